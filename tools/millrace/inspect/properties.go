package inspect

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"millrace/broker/config"
)

func readProperties(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	props, err := config.ParseProperties(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return props, nil
}

func dumpProperties(w io.Writer, path string) error {
	props, err := readProperties(path)
	for _, k := range slices.Sorted(maps.Keys(props)) {
		fmt.Fprintf(w, "%s: %s\n", k, props[k])
	}
	return err
}

func verifyProperties(path string, r *Report) error {
	r.Files++
	props, err := readProperties(path)
	if err != nil {
		r.damage(path, -1, "%v", err)
		return nil
	}
	for _, key := range []string{"cluster.id", "node.id", "version"} {
		if props[key] == "" {
			r.damage(path, -1, "no %s", key)
		}
	}
	return nil
}

// readPartitionMetadata reads "version: 0" and "topic_id: ID".
func readPartitionMetadata(path string) (topicID string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fields := map[string]string{}
	s := bufio.NewScanner(f)
	for s.Scan() {
		key, value, ok := strings.Cut(s.Text(), ":")
		if !ok {
			return "", fmt.Errorf("%s: %q", path, s.Text())
		}
		fields[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	if err := s.Err(); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	id, err := base64.RawURLEncoding.DecodeString(fields["topic_id"])
	if err != nil || len(id) != 16 || fields["version"] != "0" {
		return "", fmt.Errorf("%s: version %q, topic_id %q", path, fields["version"], fields["topic_id"])
	}
	return fields["topic_id"], nil
}

func dumpPartitionMetadata(w io.Writer, path string) error {
	id, err := readPartitionMetadata(path)
	if err == nil {
		fmt.Fprintf(w, "topicId: %s\n", id)
	}
	return err
}

func verifyPartitionMetadata(path string, r *Report) error {
	r.Files++
	if _, err := readPartitionMetadata(path); err != nil {
		r.damage(path, -1, "%v", err)
	}
	return nil
}

// dumpText prints a small text file as it is.
func dumpText(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, io.LimitReader(f, 64<<10))
	fmt.Fprintln(w)
	return err
}
