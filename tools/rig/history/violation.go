package history

import "fmt"

// Kind is the sort of a violation.
type Kind string

// The sorts of violations, as the package comment explains them.
const (
	Lost       Kind = "lost"
	Duplicate  Kind = "duplicate"
	Reordered  Kind = "reordered"
	Phantom    Kind = "phantom"
	Moved      Kind = "moved"
	Corrupt    Kind = "corrupt"
	Gap        Kind = "gap"
	WentBack   Kind = "committed offset went back"
	NeverAsked Kind = "committed offset never asked for"
)

// Violation is one thing that must not be.
type Violation struct {
	Kind      Kind
	Partition int32
	Text      string
}

func (v Violation) String() string {
	return fmt.Sprintf("%s: partition %d: %s", v.Kind, v.Partition, v.Text)
}

// perKind bounds how many violations of one kind are told one by one; the rest is a
// number. A lost segment would otherwise fill the screen with its records.
const perKind = 10

// findings collects the violations of one partition.
type findings struct {
	partition int32
	all       []Violation
	counts    map[Kind]int
}

func (f *findings) add(kind Kind, format string, args ...any) {
	if f.counts == nil {
		f.counts = map[Kind]int{}
	}
	if f.counts[kind]++; f.counts[kind] <= perKind {
		f.all = append(f.all, Violation{kind, f.partition, fmt.Sprintf(format, args...)})
	}
}

// list is what was found, with a last line for each kind that was cut short.
func (f *findings) list() []Violation {
	for kind, n := range f.counts {
		if n > perKind {
			f.all = append(f.all, Violation{kind, f.partition, fmt.Sprintf("and %d more", n-perKind)})
		}
	}
	return f.all
}
