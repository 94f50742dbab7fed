package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// seen is a record as a reader sees it, in the text form of the programs.
type seen struct {
	offset, timestamp int64
	key, value        string
	headers           [][2]string
}

func (s seen) String() string {
	short := func(t string) string {
		if len(t) > 60 {
			return fmt.Sprintf("%s... (%d)", t[:60], len(t))
		}
		return t
	}
	return fmt.Sprintf("offset %d time %d key %s value %s headers %s", s.offset, s.timestamp, short(s.key), short(s.value), short(fmt.Sprint(s.headers)))
}

func optional(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func (l line) seen() seen {
	s := seen{offset: l.Offset, timestamp: l.Timestamp, key: optional(l.Key), value: optional(l.Value)}
	for _, h := range l.Headers {
		s.headers = append(s.headers, [2]string{optional(h[0]), optional(h[1])})
	}
	return s
}

func (r record) seen(offset int) seen {
	s := seen{offset: int64(offset), timestamp: r.timestamp, key: text(r.key), value: text(r.value)}
	for _, h := range r.headers {
		s.headers = append(s.headers, [2]string{h.key, text(h.value)})
	}
	return s
}

// groupHeaders puts headers of the same key together, where the first of them stands.
func groupHeaders(headers [][2]string) [][2]string {
	var grouped [][2]string
	for i, h := range headers {
		if slices.ContainsFunc(headers[:i], func(earlier [2]string) bool { return earlier[0] == h[0] }) {
			continue
		}
		for _, later := range headers[i:] {
			if later[0] == h[0] {
				grouped = append(grouped, later)
			}
		}
	}
	return grouped
}

// read lets every client read every topic, in one process each.
func (m *matrix) read(ctx context.Context) error {
	var wanted []map[string]any
	for _, t := range m.topics {
		wanted = append(wanted, map[string]any{"topic": t.name, "ends": t.ends()})
	}
	m.eachClient(func(c client) {
		began := time.Now()
		got := map[string]*[topicPartitions][]seen{}
		for name := range m.topics {
			got[name] = &[topicPartitions][]seen{}
		}
		collect := func(topic string, partition int32, s seen) {
			if parts, ok := got[topic]; ok && partition >= 0 && partition < topicPartitions {
				parts[partition] = append(parts[partition], s)
			}
		}
		var err error
		if c.argv == nil {
			err = m.kcatRead(ctx, collect)
		} else {
			err = c.runProgram(ctx, map[string]any{"op": "consume", "brokers": m.brokers, "topics": wanted, "group": "read-" + slug(c.name)},
				func(l line) { collect(l.Topic, l.Partition, l.seen()) })
		}
		m.report.cell("read "+c.name, fmt.Sprintf("all topics in %.1f s", time.Since(began).Seconds()), err)
		for _, w := range m.writers {
			m.compareWriter(c, w, got)
		}
	})
	return nil
}

// compareWriter compares what one client read of all that another wrote.
func (m *matrix) compareWriter(reader, writer client, got map[string]*[topicPartitions][]seen) {
	records, codecs := 0, []string{}
	var wrong []string
	for _, codec := range writer.codecs {
		t := m.topics["m-"+slug(writer.name)+"-"+codec]
		records += t.count()
		codecs = append(codecs, codec)
		for p := range t.partitions {
			if err := comparePartition(reader, t, p, got[t.name][p]); err != nil {
				wrong = append(wrong, fmt.Sprintf("%s/%d: %v", t.name, p, err))
			}
		}
	}
	var err error
	if wrong != nil {
		const shown = 4
		more := ""
		if len(wrong) > shown {
			more = fmt.Sprintf("\nand %d partitions more", len(wrong)-shown)
			wrong = wrong[:shown]
		}
		err = fmt.Errorf("%s%s", strings.Join(wrong, "\n"), more)
	}
	m.report.cell(reader.name+" reads "+writer.name, fmt.Sprintf("%d records, %s", records, strings.Join(codecs, " ")), err)
}

func comparePartition(reader client, t *topic, partition int, got []seen) error {
	wrong, first := 0, ""
	for i, r := range t.partitions[partition] {
		want := r.seen(i)
		if i >= len(got) {
			return fmt.Errorf("%d records, want %d", len(got), len(t.partitions[partition]))
		}
		have := got[i]
		if t.ownTimestamps && have.timestamp > r.timestamp {
			have.timestamp = want.timestamp
		}
		for _, l := range reader.limits {
			if l.see != nil {
				l.see(&want)
			}
		}
		if have.String() == want.String() && have.key == want.key && have.value == want.value && slices.Equal(have.headers, want.headers) {
			continue
		}
		if wrong++; first == "" {
			first = fmt.Sprintf("\n  got  %v\n  want %v", have, want)
		}
	}
	if len(got) > len(t.partitions[partition]) {
		return fmt.Errorf("%d records, want %d", len(got), len(t.partitions[partition]))
	}
	if wrong > 0 {
		return fmt.Errorf("%d records differ, the first:%s", wrong, first)
	}
	return nil
}
