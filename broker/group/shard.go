package group

import (
	"container/list"
	"sync"
	"time"

	"millrace/broker/coordinator"

	"github.com/twmb/franz-go/pkg/kerr"
)

// shardState says whether a partition's groups can be served.
type shardState int8

const (
	notLed  shardState = iota // another broker coordinates these groups, or none
	loading                   // its records are being read
	active
	failed // reading failed; it is tried again
)

// shard is the groups of one partition of __consumer_offsets.
type shard struct {
	svc   *Service
	index int32

	mu      sync.Mutex
	effects []func() // run by unlock, after the lock is released
	state   shardState
	epoch   int // counts changes of state: a callback from before one is void
	groups  map[string]*group
	offsets int // number of committed offsets, all groups
	writer  *coordinator.Writer
	failing bool // the last append failed

	// pendingAge is all pending members, the oldest first. It bounds them.
	pendingAge  *list.List
	pendingElem map[*pendingMember]*list.Element

	commits commitQueue // offset commits whose reply is due
	retry   timer       // loads again after a failure
	retries int
}

// maxPendingMembers bounds the pending members of a shard. One more makes the
// oldest go: it would join with an id that is no longer known and start again.
const maxPendingMembers = 2000

func newShard(s *Service, index int32) *shard {
	sh := &shard{svc: s, index: index}
	sh.retry = timer{sh: sh, fire: sh.load}
	sh.commits.timer = timer{sh: sh, fire: sh.expireCommits}
	sh.reset()
	return sh
}

// reset forgets everything but the state.
func (sh *shard) reset() {
	sh.groups = map[string]*group{}
	sh.offsets = 0
	sh.pendingAge = list.New()
	sh.pendingElem = map[*pendingMember]*list.Element{}
}

func (sh *shard) lock() { sh.mu.Lock() }

// unlock releases the lock, then runs what was put off with after. Replies may
// encode, write and call back: none of that belongs under the lock.
func (sh *shard) unlock() {
	effects := sh.effects
	sh.effects = nil
	sh.mu.Unlock()
	for _, f := range effects {
		f()
	}
}

// after runs f when the lock is released. Needs the lock.
func (sh *shard) after(f func()) { sh.effects = append(sh.effects, f) }

// ready says why the shard cannot serve, nil if it can. Needs the lock.
func (sh *shard) ready() *kerr.Error {
	switch sh.state {
	case active:
		return nil
	case loading:
		return kerr.CoordinatorLoadInProgress
	}
	return kerr.NotCoordinator
}

// append writes records, in order. done runs later, under the lock, when they are
// written or with the error that a client gets: NOT_COORDINATOR also when the
// shard has been given up since, whatever became of the records. Without records
// it waits for those before. Needs the lock.
func (sh *shard) append(records []coordinator.Record, done func(*kerr.Error)) {
	epoch := sh.epoch
	sh.writer.Append(records, func(err error) {
		sh.lock()
		defer sh.unlock()
		if sh.epoch != epoch {
			done(kerr.NotCoordinator)
			return
		}
		if err != nil && !sh.failing { // once, not for every request until it works again
			sh.svc.log.Error("append to "+OffsetsTopic, "partition", sh.index, "error", err)
		}
		sh.failing = err != nil
		done(coordinator.ErrorCode(err))
	})
	sh.after(sh.writer.Flush)
}

// rememberPending bounds pending members. Needs the lock.
func (sh *shard) rememberPending(g *group, p *pendingMember) {
	type aged = func()
	sh.pendingElem[p] = sh.pendingAge.PushBack(aged(func() { g.expirePending(p) }))
	if sh.pendingAge.Len() > maxPendingMembers {
		sh.pendingAge.Front().Value.(aged)()
	}
}

func (sh *shard) forgetPending(p *pendingMember) {
	if e := sh.pendingElem[p]; e != nil {
		sh.pendingAge.Remove(e)
		delete(sh.pendingElem, p)
	}
}

// takeOver starts to lead the partition: its records are read in the background.
func (sh *shard) takeOver() {
	sh.lock()
	defer sh.unlock()
	if sh.state == loading || sh.state == active {
		return
	}
	sh.load()
}

// leads says whether this broker coordinates the shard's groups, be it that it
// still loads them. A partition that has come to be led without a word is taken
// over here, where every client begins.
func (sh *shard) leads() bool {
	sh.lock()
	state := sh.state
	sh.unlock()
	if state != notLed {
		return true
	}
	if sh.svc.opts.Topics.Partition(OffsetsTopic, sh.index) == nil {
		return false
	}
	sh.takeOver()
	return true
}

// load queues the partition for loading. Needs the lock.
func (sh *shard) load() {
	sh.disarm(&sh.retry)
	sh.state = loading
	sh.epoch++
	sh.reset()
	epoch := sh.epoch
	sh.svc.queueLoad(func() { sh.loadNow(epoch) })
}

// loadNow reads the partition, on a loading goroutine.
func (sh *shard) loadNow(epoch int) {
	start := sh.svc.mono()
	part := sh.svc.opts.Topics.Partition(OffsetsTopic, sh.index)
	r := &replay{sh: sh, epoch: epoch}
	var err error
	if part != nil {
		err = coordinator.Load(part, r.record)
	}

	sh.lock()
	defer sh.unlock()
	if sh.epoch != epoch {
		return // given up while it was read
	}
	switch {
	case part == nil:
		sh.state = notLed
	case err != nil:
		sh.state = failed
		sh.reset()
		wait := min(time.Second<<min(sh.retries, 6), time.Minute)
		sh.retries++
		sh.svc.log.Error("load "+OffsetsTopic, "partition", sh.index, "error", err, "retry_in", wait)
		sh.arm(&sh.retry, wait)
	default:
		sh.state = active
		sh.retries = 0
		sh.writer = coordinator.NewWriter(part, sh.svc.now)
		for _, g := range sh.groups {
			g.resume()
		}
		sh.svc.log.Debug("loaded "+OffsetsTopic, "partition", sh.index, "groups", len(sh.groups),
			"offsets", sh.offsets, "took", sh.svc.mono()-start)
	}
}

// giveUp stops serving the partition: every request that waits gets NOT_COORDINATOR.
func (sh *shard) giveUp() {
	sh.lock()
	defer sh.unlock()
	sh.epoch++
	sh.state = notLed
	sh.disarm(&sh.retry)
	if sh.writer != nil {
		sh.writer.Close(kerr.NotCoordinator)
		sh.writer = nil
	}
	for _, g := range sh.groups {
		g.abandon()
	}
	sh.commits.failAll(sh, kerr.NotCoordinator)
	sh.reset()
}
