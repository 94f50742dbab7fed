package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/tools/rig"
	"millrace/tools/rig/history"
)

const (
	keyedTopic      = "keyed"
	keyedPartitions = 2
	keys            = 400
	// tombstoneEvery is which versions of a key are deletions: each so-manieth.
	tombstoneEvery = 8
	keyedEvery     = 10 * time.Millisecond
	keyedValue     = 200
)

// keyedConfig lets compaction have work within minutes.
var keyedConfig = map[string]*string{
	"cleanup.policy":            kadm.StringPtr("compact"),
	"segment.bytes":             kadm.StringPtr("1048576"),
	"min.cleanable.dirty.ratio": kadm.StringPtr("0.1"),
	"delete.retention.ms":       kadm.StringPtr("1000"),
}

// keyed writes versions of keys to a compacted topic. The version stands in a header, since deletions have no value.
type keyed struct {
	cl *kgo.Client

	mu     sync.Mutex
	sent   [keys]int64 // the newest version of each key; 0: none yet
	failed error
}

func newKeyed(addr string) (*keyed, error) {
	cl, err := kgo.NewClient(append(rig.ClientOptions(addr), kgo.DefaultProduceTopic(keyedTopic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.StopProducerOnDataLossDetected())...)
	return &keyed{cl: cl}, err
}

func isTombstone(version int64) bool { return version%tombstoneEvery == 0 }

// run writes until ctx ends.
func (k *keyed) run(ctx context.Context) {
	tick := time.NewTicker(keyedEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			k.send(rand.IntN(keys))
		}
	}
}

func (k *keyed) send(key int) {
	k.mu.Lock()
	k.sent[key]++
	version := k.sent[key]
	k.mu.Unlock()
	r := &kgo.Record{
		Key:       binary.BigEndian.AppendUint32(nil, uint32(key)),
		Partition: int32(key % keyedPartitions),
		Headers:   []kgo.RecordHeader{{Key: "version", Value: binary.BigEndian.AppendUint64(nil, uint64(version))}},
	}
	if !isTombstone(version) {
		r.Value = make([]byte, keyedValue)
		binary.BigEndian.PutUint64(r.Value, uint64(version))
	}
	k.cl.Produce(context.Background(), r, func(_ *kgo.Record, err error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if err != nil && k.failed == nil {
			k.failed = fmt.Errorf("key %d version %d: %w", key, version, err)
		}
	})
}

// flush waits until everything sent is acknowledged.
func (k *keyed) flush(ctx context.Context) error {
	if err := k.cl.Flush(ctx); err != nil {
		return fmt.Errorf("keyed records are left: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed
}

// check reads the topic and compares it with the model; it is at rest. records is how many there are.
func (k *keyed) check(ctx context.Context, addr string, found *rig.Findings) (records int, err error) {
	k.mu.Lock()
	want := k.sent
	k.mu.Unlock()
	var last [keys]int64
	err = rig.WithAdmin(addr, func(adm *kadm.Client) error {
		ends, err := rig.EndOffsets(ctx, adm, keyedTopic)
		if err != nil {
			return err
		}
		for p, end := range ends {
			var failed error
			for r := range rig.ReadRecords(ctx, addr, keyedTopic, p, 0, end, &failed) {
				records++
				key, version, ok := decodeKeyed(r)
				if !ok {
					found.Add(history.Violation{Kind: history.Corrupt, Partition: p, Text: fmt.Sprintf("offset %d of the compacted topic", r.Offset)})
					continue
				}
				if version <= last[key] {
					found.Add(history.Violation{Kind: history.Reordered, Partition: p,
						Text: fmt.Sprintf("offset %d: version %d of key %d comes after version %d", r.Offset, version, key, last[key])})
				}
				last[key] = max(last[key], version)
			}
			if failed != nil {
				return failed
			}
		}
		return nil
	})
	if err == nil {
		found.Add(compareKeys(want[:], last[:])...)
	}
	return records, err
}

// compareKeys finds keys whose last version in the log is not the last one that was acknowledged. A key that was deleted
// last may be gone; it may not be back at an earlier version.
func compareKeys(want, last []int64) (vs []history.Violation) {
	for key := range want {
		if last[key] != want[key] && (last[key] != 0 || !isTombstone(want[key])) {
			vs = append(vs, history.Violation{Kind: history.Lost, Partition: int32(key % keyedPartitions),
				Text: fmt.Sprintf("key %d is at version %d, acknowledged was %d", key, last[key], want[key])})
		}
	}
	return vs
}

func decodeKeyed(r *kgo.Record) (key int, version int64, ok bool) {
	if len(r.Key) != 4 || len(r.Headers) != 1 || len(r.Headers[0].Value) != 8 {
		return 0, 0, false
	}
	key = int(binary.BigEndian.Uint32(r.Key))
	version = int64(binary.BigEndian.Uint64(r.Headers[0].Value))
	if isTombstone(version) {
		return key, version, key < keys && r.Value == nil
	}
	want := make([]byte, keyedValue)
	binary.BigEndian.PutUint64(want, uint64(version))
	return key, version, key < keys && slices.Equal(r.Value, want)
}
