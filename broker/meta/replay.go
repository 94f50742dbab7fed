package meta

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"millrace/segment/batch"
)

// CorruptionError says where the metadata log is damaged. The node does not start.
type CorruptionError struct {
	Path     string // segment file, or the log's directory if no file is known
	Offset   int64  // of the batch
	Position int64  // of the batch in the file, bytes; -1: unknown
	Err      error
}

func (e *CorruptionError) Error() string {
	return fmt.Sprintf("metadata log %s is damaged at position %d (offset %d): %v", e.Path, e.Position, e.Offset, e.Err)
}

func (e *CorruptionError) Unwrap() error { return e.Err }

// replay makes the image of the whole log. unfinished tells that the log ends inside a
// transaction; its changes are not in the image.
func (s *Store) replay(clusterID string) (im *Image, unfinished bool, err error) {
	base := &Image{Version: -1, ClusterID: clusterID, NodeID: s.static.NodeID}
	d := newDraft(base)
	d.lenient = func(err error) {
		s.logger.Warn("config in the metadata log is not usable and is ignored", "error", err)
	}
	if start := s.log.StartOffset(); start != 0 {
		return nil, false, &CorruptionError{s.log.Path(), start, -1, fmt.Errorf("log starts at offset %d, not at 0", start)}
	}
	r := replayer{draft: d}
	err = s.log.ReadBatches(0, s.log.EndOffset(), func(b batch.Batch) error {
		if err := r.batch(b); err != nil {
			return s.corruption(r.next, err)
		}
		return nil
	})
	if err != nil {
		var damaged *CorruptionError
		if !errors.As(err, &damaged) {
			err = s.corruption(r.next, err)
		}
		return nil, false, fmt.Errorf("replay metadata log %s: %w", s.log.Path(), err)
	}
	if end := s.log.EndOffset(); r.next != end {
		return nil, false, s.corruption(r.next, fmt.Errorf("log ends at offset %d, not at %d", r.next, end))
	}
	im, err = d.index(s.static)
	if err != nil {
		return nil, false, fmt.Errorf("replay metadata log %s: %w", s.log.Path(), err)
	}
	im.Version = r.next - 1
	return im, r.open, nil
}

// replayer applies batches in order and holds back the records of a transaction until
// it ends.
type replayer struct {
	draft   *draft
	next    int64 // offset of the next batch
	open    bool  // inside a transaction
	pending []Change
}

func (r *replayer) batch(b batch.Batch) error {
	if len(b) >= batch.HeaderSize && b.BaseOffset() != r.next {
		return fmt.Errorf("batch has base offset %d, expected %d", b.BaseOffset(), r.next)
	}
	if err := eachRecord(b, r.record); err != nil {
		return err
	}
	r.next = b.NextOffset()
	return nil
}

func (r *replayer) record(value []byte) error {
	c, err := DecodeRecord(value)
	if err != nil {
		return err
	}
	switch c.(type) {
	case *beginTransactionRecord:
		if r.open {
			return errNestedTransaction
		}
		r.open = true
	case *endTransactionRecord:
		if !r.open {
			return errNestedTransaction
		}
		for _, c := range r.pending {
			if err := c.apply(r.draft); err != nil {
				return err
			}
		}
		r.open, r.pending = false, nil
	case *abortTransactionRecord:
		if !r.open {
			return errNestedTransaction
		}
		r.open, r.pending = false, nil
	default:
		if r.open {
			r.pending = append(r.pending, c)
			return nil
		}
		return c.apply(r.draft)
	}
	return nil
}

// corruption finds the segment file and the position in it of the batch at offset.
func (s *Store) corruption(offset int64, cause error) error {
	e := &CorruptionError{Path: s.log.Path(), Offset: offset, Position: -1, Err: cause}
	files, err := filepath.Glob(filepath.Join(s.log.Path(), "*.log"))
	if err != nil {
		return e
	}
	base := int64(-1)
	for _, f := range files {
		name := filepath.Base(f)
		if o, err := strconv.ParseInt(name[:len(name)-len(".log")], 10, 64); err == nil && o <= offset && o > base {
			base, e.Path = o, f
		}
	}
	if base >= 0 {
		e.Position = positionOf(e.Path, offset)
	}
	return e
}

// positionOf walks the batch headers of a segment file to the first batch that is not
// below offset, or to the first that makes no sense, and gives its position in bytes;
// -1 if the file cannot be read.
func positionOf(file string, offset int64) int64 {
	f, err := os.Open(file)
	if err != nil {
		return -1
	}
	defer f.Close()
	var header [batch.HeaderSize]byte
	for position := int64(0); ; {
		if _, err := f.ReadAt(header[:], position); err != nil {
			return position
		}
		b := batch.Batch(header[:])
		if b.Magic() != 2 || b.Length() <= 0 || b.LastOffsetDelta() < 0 || b.NextOffset() > offset {
			return position
		}
		position += int64(b.Size())
	}
}

var partitionDir = regexp.MustCompile(`^(.+)-\d+$`)

// HasLog tells whether a log dir has a metadata log, empty or not.
func HasLog(dir string) bool {
	segments, err := filepath.Glob(filepath.Join(dir, ClusterMetadata+"-0", "*.log"))
	return err == nil && len(segments) > 0
}

// RefuseLostLog is an error if a log dir whose metadata log is missing or empty holds
// partitions: the log was lost, and to start with an empty one would be to lose the
// topics.
func RefuseLostLog(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list log dir %s: %w", dir, err)
	}
	for _, e := range entries {
		m := partitionDir.FindStringSubmatch(e.Name())
		if e.IsDir() && m != nil && m[1] != ClusterMetadata && ValidateTopicName(m[1]) == nil {
			return &CorruptionError{filepath.Join(dir, ClusterMetadata+"-0"), 0, 0,
				fmt.Errorf("the log is missing or empty, but log dir %s holds partition %s", dir, e.Name())}
		}
	}
	return nil
}
