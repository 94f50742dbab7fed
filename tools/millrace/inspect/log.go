package inspect

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"millrace/segment/batch"
)

// maxRecordsBytes bounds what one batch is decompressed to.
const maxRecordsBytes = math.MaxInt32 - 8

// dumpLog prints each batch, and with records each record, in the words of kafka-dump-log.
func dumpLog(w io.Writer, path string, records bool) error {
	r, err := openLog(path)
	if err != nil {
		return err
	}
	defer r.close()
	if base, ok := baseOffset(path); ok {
		fmt.Fprintf(w, "Log starting offset: %d\n", base)
	}
	topic, _, _ := partitionDir(absDir(path))
	for {
		b, pos, err := r.next()
		if err == io.EOF {
			if pos < r.size {
				fmt.Fprintf(w, "end at position: %d, %d bytes of zeros follow\n", pos, r.size-pos)
			}
			return nil
		}
		var bad *badBatch
		if errors.As(err, &bad) {
			return fmt.Errorf("%s: %w", path, bad)
		}
		if err != nil {
			return err
		}
		dumpBatch(w, b, pos)
		if !records {
			continue
		}
		if err := dumpRecords(w, topic, b); err != nil {
			fmt.Fprintf(w, "| the records cannot be read: %v\n", err)
		}
	}
}

func absDir(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return filepath.Dir(path)
}

func dumpBatch(w io.Writer, b batch.Batch, pos int64) {
	lastSequence := batch.NoSequence
	if b.BaseSequence() >= 0 {
		lastSequence = b.LastSequence()
	}
	horizon := "OptionalLong.empty"
	if b.HasDeleteHorizon() {
		horizon = fmt.Sprintf("OptionalLong[%d]", b.BaseTimestamp())
	}
	fmt.Fprintf(w, "baseOffset: %d lastOffset: %d count: %d baseSequence: %d lastSequence: %d producerId: %d producerEpoch: %d "+
		"partitionLeaderEpoch: %d isTransactional: %t isControl: %t deleteHorizonMs: %s position: %d %s: %d size: %d magic: %d "+
		"compresscodec: %s crc: %d isvalid: %t\n",
		b.BaseOffset(), b.LastOffset(), b.Count(), b.BaseSequence(), lastSequence, b.ProducerID(), b.ProducerEpoch(),
		b.LeaderEpoch(), b.IsTransactional(), b.IsControl(), horizon, pos, timestampType(b), b.MaxTimestamp(), b.Size(), b.Magic(),
		b.Codec(), b.CRC(), b.ValidCRC())
}

func timestampType(b batch.Batch) string {
	if b.IsLogAppendTime() {
		return "LogAppendTime"
	}
	return "CreateTime"
}

func dumpRecords(w io.Writer, topic string, b batch.Batch) error {
	decode := decoderOf(topic)
	return batch.ForEach(b, maxRecordsBytes, func(r *batch.Record) error {
		timestamp := b.BaseTimestamp() + r.TimestampDelta
		if b.IsLogAppendTime() {
			timestamp = b.MaxTimestamp()
		}
		sequence := batch.NoSequence
		if b.BaseSequence() >= 0 {
			sequence = batch.IncrementSequence(b.BaseSequence(), r.OffsetDelta)
		}
		headers, err := r.Headers(nil)
		if err != nil {
			return err
		}
		keys := make([]string, len(headers))
		for i, h := range headers {
			keys[i] = h.Key
		}
		fmt.Fprintf(w, "| offset: %d %s: %d keySize: %d valueSize: %d sequence: %d headerKeys: [%s]",
			b.BaseOffset()+int64(r.OffsetDelta), timestampType(b), timestamp, size(r.Key), size(r.Value), sequence, strings.Join(keys, ","))
		switch {
		case b.IsControl():
			fmt.Fprintf(w, " %s\n", controlRecord(r.Key, r.Value))
		case decode != nil:
			fmt.Fprintf(w, " %s\n", decode(r.Key, r.Value))
		default:
			fmt.Fprintf(w, " key: %s payload: %s\n", text(r.Key), text(r.Value))
		}
		return nil
	})
}

func size(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// text shows bytes as a quoted string, so that a record cannot write control characters to a terminal.
func text(b []byte) string {
	if b == nil {
		return "null"
	}
	return strconv.Quote(string(b))
}

// extent is where a batch is and what it holds: what the indexes are held against.
type extent struct {
	pos          int64
	base, last   int64
	maxTimestamp int64
	epoch        int32
	emptied      bool // by compaction: it has no record
}

// segmentLog is what a verification learned of a .log file.
type segmentLog struct {
	path    string
	batches []extent
	end     int64 // position after the last good batch
	whole   bool  // every batch could be read
}

// verifyLog checks each batch: frame, CRC, records, offsets that follow one another, without a gap unless the log was
// compacted.
func verifyLog(path string, r *Report) (*segmentLog, error) {
	lr, err := openLog(path)
	if err != nil {
		return nil, err
	}
	defer lr.close()
	r.Files++
	s := &segmentLog{path: path, whole: true}
	next, named := baseOffset(path)
	compacted := gapsOf(filepath.Dir(path)).inside
	for {
		b, pos, err := lr.next()
		s.end = pos
		if err == io.EOF {
			return s, nil
		}
		var bad *badBatch
		if errors.As(err, &bad) {
			r.damage(path, bad.pos, "%s; nothing after it is looked at", bad.what)
			s.whole = false
			return s, nil
		}
		if err != nil {
			return s, err
		}
		if named || len(s.batches) > 0 {
			if b.BaseOffset() < next || b.BaseOffset() > next && !compacted {
				r.damage(path, pos, "base offset %d, want %d", b.BaseOffset(), next)
			}
		}
		next = b.NextOffset()
		verifyBatch(path, pos, b, r)
		s.batches = append(s.batches, extent{pos, b.BaseOffset(), b.LastOffset(), b.MaxTimestamp(), b.LeaderEpoch(), b.Count() == 0})
		r.Batches++
		r.Records += int64(b.Count())
		r.Bytes += int64(b.Size())
	}
}

func verifyBatch(path string, pos int64, b batch.Batch, r *Report) {
	if !b.ValidCRC() {
		r.damage(path, pos, "batch of offset %d: CRC %08x, of the bytes %08x", b.BaseOffset(), b.CRC(), b.ComputeCRC())
		return // what the records say means nothing
	}
	if b.LastOffsetDelta() < 0 || b.Count() < 0 {
		r.damage(path, pos, "batch of offset %d: %d records up to offset delta %d", b.BaseOffset(), b.Count(), b.LastOffsetDelta())
		return
	}
	n, last := int32(0), int32(-1)
	err := batch.ForEach(b, maxRecordsBytes, func(rec *batch.Record) error {
		if rec.OffsetDelta <= last || rec.OffsetDelta > b.LastOffsetDelta() {
			return fmt.Errorf("record %d has offset delta %d after %d, and the batch ends at %d", n, rec.OffsetDelta, last, b.LastOffsetDelta())
		}
		n, last = n+1, rec.OffsetDelta
		return nil
	})
	switch {
	case err != nil:
		r.damage(path, pos, "batch of offset %d: %v", b.BaseOffset(), err)
	case n != b.Count():
		r.damage(path, pos, "batch of offset %d: %d records, the header says %d", b.BaseOffset(), n, b.Count())
	}
}
