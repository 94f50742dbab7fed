package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

const (
	txnEntry   = 34
	txnVersion = 0
)

// AbortedTxn is one aborted transaction of a segment.
type AbortedTxn struct {
	ProducerID       int64
	FirstOffset      int64 // of the transaction's first record
	LastOffset       int64 // of its abort marker
	LastStableOffset int64 // of the log once this transaction was aborted
}

// Txn is the list of transactions whose abort marker is in a segment: the
// .txnindex file. Most segments have none and no file. It keeps no descriptor and
// no memory per entry. All methods are for any goroutine.
type Txn struct {
	mu   sync.Mutex
	path string
	base int64
	n    int   // entries
	last int64 // last offset of the last entry
}

// OpenTxn opens the index, creating nothing. It reads all entries once: whole,
// version 0, last offsets rising and not below baseOffset, else ErrCorrupt.
func OpenTxn(path string, baseOffset int64) (*Txn, error) {
	x := &Txn{path: path, base: baseOffset, last: baseOffset - 1}
	b, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return x, nil
	case err != nil:
		return nil, fmt.Errorf("open index: %w", err)
	case len(b)%txnEntry != 0:
		return nil, corrupt(path, "%d bytes are no multiple of %d", len(b), txnEntry)
	}
	for ; len(b) > 0; b = b[txnEntry:] {
		t, err := decodeTxn(b)
		if err == nil && (t.LastOffset <= x.last || t.FirstOffset > t.LastOffset) {
			err = fmt.Errorf("offsets %d to %d after %d", t.FirstOffset, t.LastOffset, x.last)
		}
		if err != nil {
			return nil, corrupt(path, "entry %d: %v", x.n, err)
		}
		x.n, x.last = x.n+1, t.LastOffset
	}
	return x, nil
}

func decodeTxn(b []byte) (AbortedTxn, error) {
	if v := int16(binary.BigEndian.Uint16(b)); v != txnVersion {
		return AbortedTxn{}, fmt.Errorf("version %d", v)
	}
	return AbortedTxn{
		ProducerID:       int64(binary.BigEndian.Uint64(b[2:])),
		FirstOffset:      int64(binary.BigEndian.Uint64(b[10:])),
		LastOffset:       int64(binary.BigEndian.Uint64(b[18:])),
		LastStableOffset: int64(binary.BigEndian.Uint64(b[26:])),
	}, nil
}

func appendTxn(b []byte, t AbortedTxn) []byte {
	b = binary.BigEndian.AppendUint16(b, txnVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(t.ProducerID))
	b = binary.BigEndian.AppendUint64(b, uint64(t.FirstOffset))
	b = binary.BigEndian.AppendUint64(b, uint64(t.LastOffset))
	return binary.BigEndian.AppendUint64(b, uint64(t.LastStableOffset))
}

// Append adds a transaction, whose last offset must be above the last one's; the
// first makes the file. It is in the page cache when Append returns; Sync brings
// it to the disk.
func (x *Txn) Append(t AbortedTxn) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if t.LastOffset <= x.last || t.FirstOffset > t.LastOffset {
		return fmt.Errorf("append %s: offsets %d to %d after %d", x.path, t.FirstOffset, t.LastOffset, x.last)
	}
	f, err := os.OpenFile(x.path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("append index: %w", err)
	}
	var entry [txnEntry]byte
	_, err = f.WriteAt(appendTxn(entry[:0], t), int64(x.n)*txnEntry)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		// A part of an entry may be there; the next Append writes over it, and a
		// file that stays so is found corrupt when opened.
		return fmt.Errorf("append index at %d: %w", x.n*txnEntry, err)
	}
	x.n, x.last = x.n+1, t.LastOffset
	return nil
}

// Collect appends to dst the transactions that a reader of offsets from
// fetchOffset up to, but not including, upperBound must know about. complete says
// that no later segment can have another one: the search need not go on there.
func (x *Txn) Collect(dst []AbortedTxn, fetchOffset, upperBound int64) (found []AbortedTxn, complete bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	err = x.each(func(_ int, t AbortedTxn) bool {
		if t.LastOffset >= fetchOffset && t.FirstOffset < upperBound {
			dst = append(dst, t)
		}
		complete = t.LastStableOffset >= upperBound
		return !complete
	})
	return dst, complete, err
}

// each calls f with every entry in order until it answers false.
func (x *Txn) each(f func(i int, t AbortedTxn) bool) error {
	if x.n == 0 {
		return nil
	}
	file, err := os.Open(x.path)
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	defer file.Close()
	var buf [64 * txnEntry]byte
	for i := 0; i < x.n; {
		b := buf[:min(len(buf), (x.n-i)*txnEntry)]
		if _, err := file.ReadAt(b, int64(i)*txnEntry); err != nil {
			return fmt.Errorf("read index %s at %d: %w", x.path, i*txnEntry, err)
		}
		for ; len(b) > 0; b = b[txnEntry:] {
			t, err := decodeTxn(b)
			if err != nil {
				return corrupt(x.path, "entry %d: %v", i, err)
			}
			if !f(i, t) {
				return nil
			}
			i++
		}
	}
	return nil
}

// Entries is the number of transactions.
func (x *Txn) Entries() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.n
}

// Truncate drops the transactions whose last offset is at or above offset, and
// the file with the last of them.
func (x *Txn) Truncate(offset int64) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	keep, last := 0, x.base-1
	err := x.each(func(i int, t AbortedTxn) bool {
		if t.LastOffset >= offset {
			return false
		}
		keep, last = i+1, t.LastOffset
		return true
	})
	if err != nil || keep == x.n {
		return err
	}
	if keep == 0 {
		err = os.Remove(x.path)
	} else {
		err = os.Truncate(x.path, int64(keep)*txnEntry)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("truncate index: %w", err)
	}
	x.n, x.last = keep, last
	return nil
}

// Sync brings the entries to the disk. The directory entry of a new file is the
// caller's to sync.
func (x *Txn) Sync() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.n == 0 {
		return nil
	}
	f, err := os.OpenFile(x.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("sync index: %w", err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("sync index: %w", err)
	}
	return nil
}

// Close ends the use of the index. There is nothing to release.
func (x *Txn) Close() error { return nil }
