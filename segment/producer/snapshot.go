package producer

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
)

// ErrCorrupt means that a snapshot is damaged: rebuild the state from an older
// one or from the start of the log. It comes wrapped with the file and the reason.
var ErrCorrupt = errors.New("corrupt producer snapshot")

const (
	snapshotVersion = 1
	sectionVersion  = 1
	sectionMagic    = "MRPS"

	snapshotCRCPos   = 2
	snapshotCountPos = 6
	snapshotHeader   = 10
	snapshotProducer = 46
	sectionHeader    = 4 + 2
	sectionProducer  = 9
	sectionBatch     = 24

	maxSnapshotBytes = snapshotHeader + sectionHeader +
		maxProducers*(snapshotProducer+sectionProducer+(Window-1)*sectionBatch)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendSnapshot appends the state in the format of the package's documentation.
func (s *State) AppendSnapshot(dst []byte) []byte {
	be := binary.BigEndian
	start := len(dst)
	dst = be.AppendUint16(dst, snapshotVersion)
	dst = be.AppendUint32(dst, 0) // CRC
	dst = be.AppendUint32(dst, uint32(len(s.producers)))
	for p := s.oldest; p != nil; p = p.next {
		last := Entry{LastSequence: -1, LastOffset: -1, BaseOffset: -1}
		if p.n > 0 {
			last = p.batches[p.n-1]
		}
		dst = be.AppendUint64(dst, uint64(p.id))
		dst = be.AppendUint16(dst, uint16(p.epoch))
		dst = be.AppendUint32(dst, uint32(last.LastSequence))
		dst = be.AppendUint64(dst, uint64(last.LastOffset))
		dst = be.AppendUint32(dst, uint32(last.offsetDelta()))
		dst = be.AppendUint64(dst, uint64(p.lastTimestamp))
		dst = be.AppendUint32(dst, uint32(p.coordinatorEpoch))
		dst = be.AppendUint64(dst, uint64(p.txnFirstOffset))
	}
	dst = append(dst, sectionMagic...)
	dst = be.AppendUint16(dst, sectionVersion)
	for p := s.oldest; p != nil; p = p.next {
		older := p.batches[:max(p.n-1, 0)]
		dst = be.AppendUint64(dst, uint64(p.lastAppendMs))
		dst = append(dst, byte(len(older)))
		for i := range older {
			e := &older[i]
			dst = be.AppendUint32(dst, uint32(e.LastSequence))
			dst = be.AppendUint64(dst, uint64(e.LastOffset))
			dst = be.AppendUint32(dst, uint32(e.offsetDelta()))
			dst = be.AppendUint64(dst, uint64(e.TimestampMs))
		}
	}
	crc := crc32.Checksum(dst[start+snapshotCountPos:], castagnoli)
	be.PutUint32(dst[start+snapshotCRCPos:], crc)
	return dst
}

// WriteSnapshot writes the state to path by way of a temporary file. When it
// returns nil the snapshot and its directory entry are on the disk; on error path
// is what it was before.
func (s *State) WriteSnapshot(path string) error {
	if err := writeDurable(path, s.AppendSnapshot(nil)); err != nil {
		return fmt.Errorf("write producer snapshot %s: %w", path, err)
	}
	return nil
}

func writeDurable(path string, b []byte) error {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, name+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// ReadSnapshot replaces the state by the one in path. On error (ErrCorrupt if the
// file is damaged) the state is unchanged.
func (s *State) ReadSnapshot(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read producer snapshot: %w", err)
	}
	if fi.Size() > maxSnapshotBytes {
		return fmt.Errorf("%w: %s: %d bytes", ErrCorrupt, path, fi.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read producer snapshot: %w", err)
	}
	if err := s.DecodeSnapshot(b); err != nil {
		return fmt.Errorf("%w: %s", err, path)
	}
	return nil
}

// DecodeSnapshot replaces the state by the one in b, or leaves it unchanged and
// returns ErrCorrupt.
func (s *State) DecodeSnapshot(b []byte) error {
	be := binary.BigEndian
	if len(b) < snapshotHeader {
		return fmt.Errorf("%w: %d bytes", ErrCorrupt, len(b))
	}
	if v := int16(be.Uint16(b)); v != snapshotVersion {
		return fmt.Errorf("%w: version %d", ErrCorrupt, v)
	}
	if want, got := be.Uint32(b[snapshotCRCPos:]), crc32.Checksum(b[snapshotCountPos:], castagnoli); want != got {
		return fmt.Errorf("%w: CRC %#x, %#x computed", ErrCorrupt, want, got)
	}
	count := int64(int32(be.Uint32(b[snapshotCountPos:])))
	rest := b[snapshotHeader:]
	if count < 0 || count > maxProducers || count*snapshotProducer > int64(len(rest)) {
		return fmt.Errorf("%w: %d producers in %d bytes", ErrCorrupt, count, len(b))
	}
	list := make([]*producer, count)
	seen := make(map[int64]*producer, count)
	for i := range list {
		p, err := decodeProducer(rest[i*snapshotProducer:])
		if err != nil {
			return err
		}
		if seen[p.id] != nil {
			return fmt.Errorf("%w: producer %d twice", ErrCorrupt, p.id)
		}
		list[i], seen[p.id] = p, p
	}
	if err := decodeSection(rest[count*snapshotProducer:], list); err != nil {
		return err
	}
	s.replace(list, seen)
	return nil
}

func decodeProducer(b []byte) (*producer, error) {
	be := binary.BigEndian
	p := &producer{
		id:               int64(be.Uint64(b)),
		epoch:            int16(be.Uint16(b[8:])),
		lastTimestamp:    int64(be.Uint64(b[26:])),
		coordinatorEpoch: int32(be.Uint32(b[34:])),
		txnFirstOffset:   int64(be.Uint64(b[38:])),
	}
	p.lastAppendMs = p.lastTimestamp
	if p.id < 0 || p.epoch < 0 || p.txnFirstOffset < -1 {
		return nil, fmt.Errorf("%w: producer %d, epoch %d, transaction from %d", ErrCorrupt, p.id, p.epoch, p.txnFirstOffset)
	}
	if int32(be.Uint32(b[10:])) < 0 { // no batch of this epoch
		return p, nil
	}
	e, err := decodeBatch(be.Uint32(b[10:]), be.Uint64(b[14:]), be.Uint32(b[22:]), p.lastTimestamp)
	if err != nil {
		return nil, fmt.Errorf("producer %d: %w", p.id, err)
	}
	p.add(e)
	return p, nil
}

func decodeBatch(lastSequence uint32, lastOffset uint64, offsetDelta uint32, timestampMs int64) (Entry, error) {
	seq, offset, delta := int32(lastSequence), int64(lastOffset), int32(offsetDelta)
	if seq < 0 || delta < 0 || offset < int64(delta) {
		return Entry{}, fmt.Errorf("%w: batch with last sequence %d, last offset %d, offset delta %d", ErrCorrupt, seq, offset, delta)
	}
	return newEntry(seq, offset, delta, timestampMs), nil
}

// decodeSection adds what our own section knows. Without one, or with one of a
// later version, what Kafka's part says has to do.
func decodeSection(b []byte, list []*producer) error {
	be := binary.BigEndian
	if len(b) < sectionHeader || string(b[:len(sectionMagic)]) != sectionMagic ||
		int16(be.Uint16(b[len(sectionMagic):])) != sectionVersion {
		return nil
	}
	b = b[sectionHeader:]
	for _, p := range list {
		if len(b) < sectionProducer {
			return fmt.Errorf("%w: section ends before producer %d", ErrCorrupt, p.id)
		}
		p.lastAppendMs = int64(be.Uint64(b))
		older := int(b[8])
		b = b[sectionProducer:]
		if older >= Window || older > 0 && p.n == 0 || len(b) < older*sectionBatch {
			return fmt.Errorf("%w: producer %d: %d older batches in %d bytes", ErrCorrupt, p.id, older, len(b))
		}
		newest := p.batches[0]
		if older > 0 {
			p.n = 0
			for ; older > 0; older, b = older-1, b[sectionBatch:] {
				e, err := decodeBatch(be.Uint32(b), be.Uint64(b[4:]), be.Uint32(b[12:]), int64(be.Uint64(b[16:])))
				if err != nil {
					return fmt.Errorf("producer %d: %w", p.id, err)
				}
				p.add(e)
			}
			p.add(newest)
		}
	}
	return nil
}

// replace makes list the state, in order of the last append.
func (s *State) replace(list []*producer, byID map[int64]*producer) {
	slices.SortStableFunc(list, func(a, b *producer) int { return cmp.Compare(a.lastAppendMs, b.lastAppendMs) })
	s.producers, s.oldest, s.newest, s.open = byID, nil, nil, nil
	for _, p := range list {
		s.pushNewest(p)
		if p.txnFirstOffset >= 0 {
			s.open = append(s.open, openTxn{p.txnFirstOffset, p.id})
		}
	}
	slices.SortFunc(s.open, func(a, b openTxn) int { return cmp.Compare(a.firstOffset, b.firstOffset) })
}
