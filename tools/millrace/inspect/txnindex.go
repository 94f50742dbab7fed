package inspect

import (
	"encoding/binary"
	"fmt"
	"io"
)

func dumpTxnIndex(w io.Writer, path string) error {
	b, err := readIndex(path)
	if err != nil {
		return err
	}
	end := eachEntry(b, txnEntry, func(_ int, e []byte) {
		t := decodeAborted(e)
		fmt.Fprintf(w, "version: %d producerId: %d firstOffset: %d lastOffset: %d lastStableOffset: %d\n", t.version, t.producer, t.first, t.last, t.stable)
	})
	dumpRest(w, len(b), end)
	return nil
}

type aborted struct {
	version                       int16
	producer, first, last, stable int64
}

func decodeAborted(e []byte) aborted {
	at := func(i int) int64 { return int64(binary.BigEndian.Uint64(e[i:])) }
	return aborted{int16(binary.BigEndian.Uint16(e)), at(2), at(10), at(18), at(26)}
}

// verifyTxnIndex checks that each abort marker lies in the segment. log may be nil.
func verifyTxnIndex(path string, log *segmentLog, r *Report) error {
	b, err := readIndex(path)
	if err != nil {
		return err
	}
	r.Files++
	verifyLength(path, b, txnEntry, r)
	last := int64(-1)
	eachEntry(b, txnEntry, func(pos int, e []byte) {
		t := decodeAborted(e)
		switch {
		case t.version != 0:
			r.damage(path, int64(pos), "version %d", t.version)
			return
		case t.producer < 0 || t.first < 0 || t.first > t.last || t.stable > t.last+1:
			r.damage(path, int64(pos), "producer %d aborted offsets %d to %d, last stable offset %d", t.producer, t.first, t.last, t.stable)
		case t.last <= last:
			r.damage(path, int64(pos), "abort at offset %d comes after abort at offset %d", t.last, last)
		}
		last = t.last
		if log == nil || !log.whole {
			return
		}
		if _, ok := log.holding(t.last); !ok {
			r.damage(path, int64(pos), "the log has no abort marker at offset %d", t.last)
		}
	})
	return nil
}
