package inspect

import (
	"fmt"
	"io"
	"math"

	"millrace/segment/producer"
)

func readSnapshot(path string) (*producer.State, error) {
	s := producer.New(math.MaxInt64)
	if err := s.ReadSnapshot(path); err != nil {
		return nil, err
	}
	return s, nil
}

func dumpSnapshot(w io.Writer, path string) error {
	s, err := readSnapshot(path)
	if err != nil {
		return err
	}
	for _, p := range s.Producers() {
		fmt.Fprintf(w, "producerId: %d producerEpoch: %d coordinatorEpoch: %d currentTxnFirstOffset: %d lastTimestamp: %d lastSequence: %d\n",
			p.ProducerID, p.ProducerEpoch, p.CoordinatorEpoch, p.CurrentTxnStartOffset, p.LastTimestamp, p.LastSequence)
	}
	return nil
}

func verifySnapshot(path string, r *Report) error {
	r.Files++
	if _, err := readSnapshot(path); err != nil {
		r.damage(path, -1, "%v", err)
	}
	return nil
}
