package inspect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"millrace/segment"
	"millrace/segment/journal"
)

// Files that Kafka does not have: those of the commit journal, and what a clean stop leaves written of the logs.

func dumpJournal(w io.Writer, path string) error {
	s, err := journal.ReadFile(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	fmt.Fprintf(w, "turns: %d entries: %d bytes: %d missingTurns: %d\n", s.Turns, len(s.Entries), s.Bytes, s.Missing)
	for _, e := range s.Entries {
		fmt.Fprintf(w, "partition: %s topicId: %s segment: %d position: %d size: %d endOffset: %d\n",
			e.Name, base64.RawURLEncoding.EncodeToString(e.TopicID[:]), e.Segment, e.Position, len(e.Data), e.End)
	}
	return nil
}

func verifyJournal(path string, r *Report) error {
	s, err := journal.ReadFile(path)
	if err != nil {
		r.damage(path, -1, "%v", err)
		return nil
	}
	if s.Missing > 0 {
		r.damage(path, -1, "%d turns between others are damaged", s.Missing)
	}
	return nil
}

func dumpStopped(w io.Writer, path string) error {
	logs, err := segment.ReadStopped(path)
	if err != nil {
		return err
	}
	for _, l := range logs {
		fmt.Fprintf(w, "topic: %s partition: %d topicId: %s segments: %d baseOffset: %d nextOffset: %d bytes: %d\n",
			l.Topic, l.Partition, base64.RawURLEncoding.EncodeToString(l.TopicID[:]), len(l.Bases), l.Bases[0], l.NextOffset, l.Bytes)
	}
	return nil
}

func verifyStopped(path string, r *Report) error {
	_, err := segment.ReadStopped(path)
	if errors.Is(err, segment.ErrCorrupt) {
		r.damage(path, -1, "%v", err)
		return nil
	}
	return err
}

func verifyJournalDir(path string, r *Report) error {
	files, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := verifyJournal(filepath.Join(path, f.Name()), r); err != nil {
			return err
		}
	}
	return nil
}
