package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"golang.org/x/sys/unix"
)

const (
	// Block is the alignment of turns in a file, and of their memory, bytes.
	Block = 4096

	magic       = "MILLJRN2"
	turnHeader  = 48
	entryHeader = 48
	// maxName is the longest name of a partition directory, bytes.
	maxName = 255
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Overhead is what a turn with one entry for the partition directory name needs besides the entry's bytes, without padding.
func Overhead(name string) int64 { return int64(turnHeader + entryHeader + len(name)) }

// Entry is a piece of one segment file.
type Entry struct {
	Name     string // of the partition directory
	TopicID  [16]byte
	Segment  int64 // its base offset
	Position int64 // in the segment file, bytes
	End      int64 // offset behind the last record
	Data     []byte
}

// Turn is one write of the journal while it is put together, in memory that may be handed to the kernel.
type Turn struct {
	mem     []byte // mapped
	n       int
	entries uint32
}

// NewTurn makes an empty turn of at most size bytes, a multiple of Block.
func NewTurn(size int) (*Turn, error) {
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("mmap %d bytes: %w", size, err)
	}
	return &Turn{mem: mem, n: turnHeader}, nil
}

// Free gives the memory back. Nothing may be using it.
func (t *Turn) Free() {
	_ = unix.Munmap(t.mem)
	t.mem = nil
}

// Empty says that there is no entry yet.
func (t *Turn) Empty() bool { return t.entries == 0 }

// Fits says whether an entry of n bytes can be added so that the turn is at most limit bytes long, padding included.
func (t *Turn) Fits(name string, n int, limit int64) bool {
	end := t.n + entryHeader + len(name) + n
	return end <= len(t.mem) && padded(end) <= limit && len(name) <= maxName
}

// Add adds an entry of n bytes that Fits and returns where they go; the caller fills all of it. e.Data is not used.
func (t *Turn) Add(e *Entry, n int) []byte {
	h := t.mem[t.n:][:entryHeader]
	binary.LittleEndian.PutUint32(h, uint32(n))
	binary.LittleEndian.PutUint16(h[4:], uint16(len(e.Name)))
	binary.LittleEndian.PutUint16(h[6:], 0)
	copy(h[8:], e.TopicID[:])
	binary.LittleEndian.PutUint64(h[24:], uint64(e.Segment))
	binary.LittleEndian.PutUint64(h[32:], uint64(e.Position))
	binary.LittleEndian.PutUint64(h[40:], uint64(e.End))
	t.n += entryHeader
	t.n += copy(t.mem[t.n:], e.Name)
	data := t.mem[t.n:][:n:n]
	t.n += n
	t.entries++
	return data
}

// Size is how long the turn is now, padding included.
func (t *Turn) Size() int { return int(padded(t.n)) }

// seal completes the turn for its place and returns what is to be written there.
func (t *Turn) seal(u use, sequence uint64) []byte {
	h := t.mem[:turnHeader]
	copy(h, magic)
	binary.LittleEndian.PutUint32(h[12:], uint32(t.n))
	binary.LittleEndian.PutUint64(h[16:], u.generation)
	binary.LittleEndian.PutUint64(h[24:], sequence)
	binary.LittleEndian.PutUint32(h[32:], t.entries)
	binary.LittleEndian.PutUint32(h[36:], 0)
	binary.LittleEndian.PutUint64(h[40:], u.salt)
	binary.LittleEndian.PutUint32(h[8:], crc32.Checksum(t.mem[12:t.n], castagnoli))
	out := t.mem[:padded(t.n)]
	clear(out[t.n:])
	return out
}

// Reset empties the turn.
func (t *Turn) Reset() { t.n, t.entries = turnHeader, 0 }

func padded(n int) int64 { return (int64(n) + Block - 1) / Block * Block }

// use is one use of a file from its beginning on. Turns of another use, and records that look like turns, do not have
// its salt.
type use struct{ generation, salt uint64 }

// turn is a turn that was read.
type turn struct {
	use
	sequence uint64
	size     int64 // in the file, padding included
	body     []byte
	entries  int
	// behindDamage: it is the first whole one of its file, and there was another before it.
	behindDamage bool
}

// useOf is the use that a header speaks of, be the turn whole or not. False: it is no header.
func useOf(b []byte) (u use, ok bool) {
	if len(b) < turnHeader || string(b[:8]) != magic {
		return u, false
	}
	return use{binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[40:])}, true
}

// parseTurn reads the turn that b begins with. False: there is none, or not all of it.
func parseTurn(b []byte) (t turn, ok bool) {
	if t.use, ok = useOf(b); !ok {
		return t, false
	}
	n := int64(binary.LittleEndian.Uint32(b[12:]))
	if n < turnHeader || n > int64(len(b)) {
		return t, false
	}
	if crc32.Checksum(b[12:n], castagnoli) != binary.LittleEndian.Uint32(b[8:]) {
		return t, false
	}
	t.sequence = binary.LittleEndian.Uint64(b[24:])
	t.entries = int(binary.LittleEndian.Uint32(b[32:]))
	t.size = padded(int(n))
	t.body = b[turnHeader:n]
	return t, true
}

// appendTo appends the entries. Their data is part of what was read. A turn with a valid CRC that makes no sense was
// not written by this program, and is an error.
func (t *turn) appendTo(entries []Entry) ([]Entry, error) {
	b := t.body
	for range t.entries {
		if len(b) < entryHeader {
			return entries, errEntry
		}
		n, name := int64(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint16(b[4:]))
		e := Entry{
			TopicID:  [16]byte(b[8:24]),
			Segment:  int64(binary.LittleEndian.Uint64(b[24:])),
			Position: int64(binary.LittleEndian.Uint64(b[32:])),
			End:      int64(binary.LittleEndian.Uint64(b[40:])),
		}
		b = b[entryHeader:]
		if int64(len(b)) < int64(name)+n || name == 0 || name > maxName || e.Segment < 0 || e.Position < 0 || e.End < e.Segment {
			return entries, errEntry
		}
		e.Name = string(b[:name])
		e.Data = b[name:][:n:n]
		b = b[int64(name)+n:]
		entries = append(entries, e)
	}
	return entries, nil
}
