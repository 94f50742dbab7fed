package segment

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
)

// StoppedLog is what a clean stop left written of a log.
type StoppedLog struct {
	Topic      string
	Partition  int32
	TopicID    [16]byte
	NextOffset int64
	Bases      []int64 // base offsets of its segments
	Bytes      int64   // in them
}

// ReadStopped reads the file that a clean stop leaves in a log dir, by topic and partition. A damaged one wraps
// ErrCorrupt.
func ReadStopped(path string) ([]StoppedLog, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	id := ""
	if len(b) >= stoppedHeader {
		id = hex.EncodeToString(b[len(stoppedMagic)+2:][:16])
	}
	logs, err := decodeStopped(b, id)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	list := make([]StoppedLog, 0, len(logs))
	for _, s := range logs {
		l := StoppedLog{Topic: s.topic, Partition: s.partition, TopicID: s.topicID, NextOffset: s.nextOffset}
		for _, seg := range s.segments {
			l.Bases = append(l.Bases, seg.base)
			l.Bytes += seg.size
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b StoppedLog) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list, nil
}
