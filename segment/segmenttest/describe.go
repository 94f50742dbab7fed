package segmenttest

import (
	"fmt"
	"strings"
)

var kindNames = [...]string{
	"write", "write begun", "truncate", "allocate", "fsync", "fdatasync begun", "create", "rename", "remove", "sync directory",
	"syncfs", "done",
}

// Describe lists the events before the crash, one a line, and marks with ? those that are pending.
func (c *Crash) Describe() string {
	names := map[int]string{0: "."}
	pending := map[int]string{}
	for i, j := range c.names {
		pending[j] = fmt.Sprintf("?name %d", i)
	}
	for i, j := range c.pending {
		pending[j] = fmt.Sprintf("?content %d", i)
	}
	var out strings.Builder
	for i := range c.rec.Events[:c.At] {
		e := &c.rec.Events[i]
		if e.Kind == evName || e.Kind == evRename {
			names[e.Node] = names[e.At.Dir] + "/" + e.At.Name
		}
		what := names[e.Node]
		switch e.Kind {
		case evRename:
			what = names[e.From.Dir] + "/" + e.From.Name + " to " + what
		case evRemove:
			what = names[e.From.Dir] + "/" + e.From.Name
		case evWrite, evBegin:
			what += fmt.Sprintf(" [%d, %d)", e.Off, e.Off+int64(len(e.Data)))
			if e.Durable {
				what += " durable"
			}
			if e.Done > i && e.Done < c.At {
				what += fmt.Sprintf(" until %d", e.Done)
			}
		case evTruncate, evAllocate:
			what += fmt.Sprintf(" to %d", e.Off)
		}
		fmt.Fprintf(&out, "%5d %-12s %-15s %s\n", i, pending[i], kindNames[e.Kind], what)
	}
	return out.String()
}
