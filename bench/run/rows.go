package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"millrace/bench/internal/result"
)

// row is one phase of one contender in one round.
type row struct {
	Scenario string `json:"scenario"`
	// Setting is what tells cases of a scenario apart, besides partitions.
	Setting string    `json:"setting,omitempty"`
	Peer    string    `json:"peer"`
	Round   int       `json:"round"`
	Time    time.Time `json:"time"`
	// Together is measured while another load client was at work on purpose.
	Together bool `json:"together,omitempty"`
	result.Phase
}

// rows are all rows of a run, kept in memory and, as JSON lines, in a file.
type rows struct {
	all  []row
	file *os.File
	// lenient rows of others than Millrace may have errors: a broker that fails under a load
	// is a result of the suite.
	lenient bool
	// notes tell what could not be measured.
	notes []string
}

// newRows opens the file of raw rows of a run that begins now.
func newRows(dir, name string) (*rows, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, time.Now().UTC().Format("20060102T150405Z")+"-"+name+".jsonl"))
	if err != nil {
		return nil, err
	}
	return &rows{file: f}, nil
}

// add keeps a row; one with errors ends the run, for its figures mean nothing.
func (r *rows) add(x row) error {
	r.all = append(r.all, x)
	b, err := json.Marshal(x)
	if err != nil {
		return err
	}
	if _, err := r.file.Write(append(b, '\n')); err != nil {
		return err
	}
	if x.Errors > 0 && !r.mayFail(x.Peer) {
		return fmt.Errorf("%s of %s, round %d: %d errors, the first: %s", x.Phase.Phase, x.Peer, x.Round, x.Errors, x.FirstError)
	}
	return nil
}

// mayFail tells whether the run goes on without what a contender could not do.
func (r *rows) mayFail(peer string) bool {
	return r.lenient && !slices.Contains([]string{ours, oursAsync, clientLimit, floor, floorAsync}, peer)
}

// note keeps what could not be measured, and shows it at once.
func (r *rows) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Fprintln(os.Stderr, text)
	r.notes = append(r.notes, text)
}

// cell is what the rows of one case agree in.
type cell struct {
	scenario, phase string
	partitions      int
	setting         string
	peer            string
}

func (x row) cell() cell { return cell{x.Scenario, x.Phase.Phase, x.Partitions, x.Setting, x.Peer} }

// with is the same case of another contender.
func (c cell) with(peer string) cell { c.peer = peer; return c }

// of picks the rows of a case.
func (r *rows) of(c cell) []row {
	var out []row
	for _, x := range r.all {
		if x.cell() == c {
			out = append(out, x)
		}
	}
	return out
}

// cells are the cases that have rows, in the order in which they first came, contenders
// of the same case under each other.
func (r *rows) cells(want func(row) bool) []cell {
	var out []cell
	for _, x := range r.all {
		if c := x.cell(); want(x) && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b cell) int { return r.firstOf(a) - r.firstOf(b) })
	return out
}

// firstOf is the position of the first row of a case, whoever's.
func (r *rows) firstOf(c cell) int {
	return slices.IndexFunc(r.all, func(x row) bool { return x.cell().with("") == c.with("") })
}
