package main

import "sync"

// progress is what the two members of a group have reached together. Safe for several goroutines.
type progress struct {
	mu sync.Mutex
	// assigned is how many partitions each member holds.
	assigned map[string]int
	ready    bool
	// committed is the committed offset of each partition.
	committed map[int32]int64
	cmd       *command
	done      chan struct{}
}

func newProgress(cmd *command) *progress {
	return &progress{assigned: map[string]int{}, committed: map[int32]int64{}, cmd: cmd, done: make(chan struct{})}
}

// hold notes how many partitions a member holds now, and announces once that both hold some.
func (p *progress) hold(member string, partitions int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.assigned[member] = partitions
	if !p.ready && p.assigned["A"] > 0 && p.assigned["B"] > 0 && p.assigned["A"]+p.assigned["B"] == p.cmd.Partitions {
		p.ready = true
		printLine(map[string]any{"event": "ready"})
	}
	p.finish()
}

// commit notes a committed offset.
func (p *progress) commit(partition int32, offset int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	printLine(map[string]any{"event": "committed", "partition": partition, "offset": offset})
	p.committed[partition] = offset
	p.finish()
}

// finish closes done when both members worked and every partition is committed up to the wanted offset.
func (p *progress) finish() {
	if !p.ready || len(p.committed) < p.cmd.Partitions {
		return
	}
	for _, offset := range p.committed {
		if offset < p.cmd.Until {
			return
		}
	}
	select {
	case <-p.done:
	default:
		close(p.done)
	}
}
