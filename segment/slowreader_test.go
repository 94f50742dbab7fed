package segment_test

import (
	"testing"

	"millrace/segment"
)

// Readers that are slow to give back what they were handed, far more of it than there is buffer memory, do not keep
// others from appending: they are served from the file when memory is short.
func TestSlowReadersDoNotTakeTheWritersMemory(t *testing.T) {
	onEach(t, func(t *testing.T, h *harness) {
		l := h.log(h.open(), "t")
		big := build(t, 1, 300_000, h.nowMs())
		var held []segment.Range
		defer func() {
			for _, r := range held {
				r.Ref.Release()
			}
		}()
		inFiles := 0
		for n := range int64(5 * h.opts.SlabBytes / 300_000) {
			if _, err := l.Append(big, 0); err != nil {
				t.Fatalf("append %d while readers hold %d ranges: %v", n, len(held), err)
			}
			l.settle()
			ranges, err := l.Read(nil, n, 1<<20, n+1, true, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range ranges {
				if r.Mem == nil {
					inFiles++
				}
			}
			held = append(held, ranges...)
		}
		if inFiles == 0 {
			t.Error("all of it was served from memory")
		}
	})
}
