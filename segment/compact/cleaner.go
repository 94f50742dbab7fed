package compact

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"millrace/segment"
)

// Config is what may change while the cleaner runs.
type Config struct {
	Threads           int     // passes at once; 0: compaction rests
	DedupeBufferBytes int64   // memory for offset maps, of all passes together; taken while they run
	LoadFactor        float64 // how full an offset map may become, above 0, at most 1
	IOBufferBytes     int     // memory to write from, of all passes together
	MaxBytesPerSecond float64 // read and written, by all passes together
	BackoffMs         int64   // rest when there is nothing to do
}

// Options of a Cleaner.
type Options struct {
	// Logs lists the logs to look at. Any goroutine.
	Logs func() []*segment.Log
	// Bound is the offset that compaction of a log must stay below: its last stable offset. nil: what the log knows.
	Bound  func(*segment.Log) int64
	Config func() Config
	Now    func() time.Time
	Logger *slog.Logger
}

// Cleaner compacts logs until it is closed. Its methods may be called from any goroutine.
type Cleaner struct {
	opts     Options
	ctx      context.Context
	stop     context.CancelFunc
	wake     chan struct{} // capacity 1: look again
	done     chan struct{} // closed when nothing runs any more
	throttle throttle
	stats    stats

	mu      sync.Mutex
	running map[*segment.Log]bool
	memory  map[*segment.Log]*memory
}

// memory is what the cleaner remembers of a log.
type memory struct {
	more    bool  // the last pass ended because its offset map was full
	failed  error // of the last pass; the log is uncleanable
	fails   int   // passes that failed since the last that did not
	retryAt time.Time
}

// Start begins compacting. Close ends it, before the log dirs are closed.
func Start(o Options) *Cleaner {
	c := &Cleaner{
		opts: o, wake: make(chan struct{}, 1), done: make(chan struct{}),
		running: map[*segment.Log]bool{}, memory: map[*segment.Log]*memory{},
	}
	if c.opts.Bound == nil {
		c.opts.Bound = (*segment.Log).DurableOffset
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	go c.run()
	return c
}

// Close ends passes where they are, which leaves the logs as they are, and returns when nothing runs any more.
func (c *Cleaner) Close() {
	c.stop()
	<-c.done
}

// Wake has the cleaner look for work now.
func (c *Cleaner) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run starts passes as long as there is something to do and a place free.
func (c *Cleaner) run() {
	defer close(c.done)
	var passes sync.WaitGroup
	defer passes.Wait()
	for c.ctx.Err() == nil {
		cfg := c.opts.Config()
		for c.free(cfg) {
			job, ok := c.choose()
			if !ok {
				break
			}
			passes.Go(func() {
				c.clean(job, cfg)
				c.Wake()
			})
		}
		rest := time.NewTimer(max(time.Duration(cfg.BackoffMs)*time.Millisecond, leastRest))
		select {
		case <-c.ctx.Done():
		case <-c.wake:
		case <-rest.C:
		}
		rest.Stop()
	}
}

// leastRest keeps a backoff of zero from becoming a loop.
const leastRest = 50 * time.Millisecond

func (c *Cleaner) free(cfg Config) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx.Err() == nil && len(c.running) < cfg.Threads
}

// clean is one pass over a log that choose has marked as running.
func (c *Cleaner) clean(j candidate, cfg Config) {
	began := c.opts.Now()
	p := &pass{cleaner: c, ctx: c.ctx, cfg: cfg, log: j.log, state: j.state, nowMs: began.UnixMilli()}
	more, err := p.run()
	c.mu.Lock()
	delete(c.running, j.log)
	m := c.remember(j.log)
	m.more = more && err == nil
	said := m.failed
	c.judge(m, err)
	c.mu.Unlock()
	log := c.opts.Logger.With("topic", j.log.Topic(), "partition", j.log.Partition())
	switch {
	case err == nil:
		c.stats.runs.Add(1)
		c.stats.lastRun.Store(c.opts.Now().Unix())
		log.Debug("compacted", "from", j.state.FirstDirty, "to", p.offsets.latest+1, "more", more)
	case m.failed != nil && said == nil:
		log.Error("log cannot be compacted; it is tried again later", "error", err)
	case errors.Is(err, segment.ErrNoSpace):
		log.Warn("no space to compact", "error", err)
	}
}

// How long a log rests whose pass failed: doubling.
const (
	firstRetry = time.Minute
	lastRetry  = time.Hour
)

// judge notes how a pass ended. Under c.mu.
func (c *Cleaner) judge(m *memory, err error) {
	now := c.opts.Now()
	switch {
	case err == nil:
		m.failed, m.fails = nil, 0
	case errors.Is(err, segment.ErrSegmentGone), errors.Is(err, segment.ErrClosed), errors.Is(err, segment.ErrDirOffline),
		errors.Is(err, context.Canceled):
		// Nothing is wrong with the log. It is looked at again, if it is still there.
		m.retryAt = now.Add(time.Second)
	case errors.Is(err, segment.ErrNoSpace):
		c.stats.noSpace.Add(1)
		m.retryAt = now.Add(firstRetry)
	default:
		c.stats.failures.Add(1)
		m.failed = err
		m.retryAt = now.Add(min(firstRetry<<min(m.fails, 10), lastRetry))
		m.fails++
	}
}

// remember is what is known of a log, made if need be. Under c.mu.
func (c *Cleaner) remember(l *segment.Log) *memory {
	m := c.memory[l]
	if m == nil {
		m = &memory{}
		c.memory[l] = m
	}
	return m
}
