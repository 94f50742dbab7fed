// Package invariant is the switch for assertions that are too dear for production: they are compiled in with the build
// tag invariants, which make race sets, and are gone without it.
//
//	if invariant.Enabled {
//		invariant.Check(highWatermark <= logEndOffset, "high watermark %d passed log end offset %d", highWatermark, logEndOffset)
//	}
//
// It is for what we did wrong. What a client sends or a disk returns is never asserted.
package invariant

import "fmt"

// Check panics with the numbers if what must hold does not. It does nothing unless Enabled; guard it with Enabled where
// the arguments are dear.
func Check(holds bool, format string, args ...any) {
	if Enabled && !holds {
		panic("invariant: " + fmt.Sprintf(format, args...))
	}
}
