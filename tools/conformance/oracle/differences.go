package oracle

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// absent is the value of a field that one broker did not send.
const absent = "absent"

// Difference is one field that the two brokers answer differently.
type Difference struct {
	Probe, Field      string
	Kafka, Millrace   string
	Reason            string // empty until a line of the differences file is found
	line, occurrences int    // of a declared difference
}

// String gives the line that would declare d.
func (d Difference) String() string {
	return strings.Join([]string{d.Probe, d.Field, d.Kafka, d.Millrace, d.Reason}, "\t")
}

// covers reports whether the declared difference d speaks of found.
func (d Difference) covers(found Difference) bool {
	return match(d.Probe, found.Probe) && match(d.Field, found.Field) &&
		match(d.Kafka, found.Kafka) && match(d.Millrace, found.Millrace)
}

// Declared is the content of the differences file.
type Declared struct{ lines []Difference }

// ReadDeclared reads a differences file: one difference a line, five columns set
// apart by tabs (probe, field, Kafka's value, Millrace's value, reason), * in the
// first four for any run of characters, lines that start with # left out.
func ReadDeclared(r io.Reader) (*Declared, error) {
	d := &Declared{}
	scan := bufio.NewScanner(r)
	for n := 1; scan.Scan(); n++ {
		text := scan.Text()
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			continue
		}
		c := strings.Split(text, "\t")
		if len(c) != 5 || strings.TrimSpace(c[4]) == "" {
			return nil, fmt.Errorf("differences line %d: want probe, field, Kafka, Millrace and reason, set apart by tabs", n)
		}
		d.lines = append(d.lines, Difference{Probe: c[0], Field: c[1], Kafka: c[2], Millrace: c[3], Reason: c[4], line: n})
	}
	return d, scan.Err()
}

// reason finds the line that speaks of found, remembers that it occurred, and
// gives its reason, or nothing.
func (d *Declared) reason(found Difference) string {
	for i := range d.lines {
		if d.lines[i].covers(found) {
			d.lines[i].occurrences++
			return d.lines[i].Reason
		}
	}
	return ""
}

// gone gives the declared differences that did not occur among the probes that
// ran.
func (d *Declared) gone(ran []string) []Difference {
	var gone []Difference
	for _, l := range d.lines {
		if l.occurrences == 0 && speaksOf(l, ran) {
			gone = append(gone, l)
		}
	}
	return gone
}

func speaksOf(d Difference, probes []string) bool {
	for _, p := range probes {
		if match(d.Probe, p) {
			return true
		}
	}
	return false
}

// compare gives the fields in which two answers to one probe differ, in the order
// in which they were seen.
func compare(probe string, kafka, millrace []Field) []Difference {
	other := make(map[string]string, len(millrace))
	for _, f := range millrace {
		other[f.Path] = f.Value
	}
	var diffs []Difference
	var missing string // a list element that one side lacks: its fields are not told one by one
	differ := func(path, k, m string) {
		if missing != "" && strings.HasPrefix(path, missing) {
			return
		}
		if k == present && m == absent || k == absent && m == present {
			missing = path + "."
		}
		diffs = append(diffs, Difference{Probe: probe, Field: path, Kafka: k, Millrace: m})
	}
	seen := make(map[string]bool, len(kafka))
	for _, f := range kafka {
		seen[f.Path] = true
		if v, ok := other[f.Path]; !ok {
			differ(f.Path, f.Value, absent)
		} else if v != f.Value {
			differ(f.Path, f.Value, v)
		}
	}
	for _, f := range millrace {
		if !seen[f.Path] {
			differ(f.Path, absent, f.Value)
		}
	}
	return diffs
}
