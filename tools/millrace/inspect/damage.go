package inspect

import "fmt"

// Damage is one thing that is wrong in a file.
type Damage struct {
	Path     string
	Position int64 // byte in the file; -1: the file as a whole
	What     string
}

func (d Damage) String() string {
	if d.Position < 0 {
		return fmt.Sprintf("%s: %s", d.Path, d.What)
	}
	return fmt.Sprintf("%s: at %d: %s", d.Path, d.Position, d.What)
}

// Report takes what a verification finds.
type Report struct {
	Found func(Damage) // called for each damage, at once

	Files   int
	Batches int64
	Records int64
	Bytes   int64 // of batches
	Damages int
}

func (r *Report) damage(path string, position int64, format string, args ...any) {
	r.Damages++
	if r.Found != nil {
		r.Found(Damage{path, position, fmt.Sprintf(format, args...)})
	}
}
