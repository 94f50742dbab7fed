package group

import (
	"github.com/twmb/franz-go/pkg/kerr"
)

// commitQueue is the commits of a shard that have not been answered, the oldest
// first. A commit that is not written within offsets.commit.timeout.ms is answered
// with COORDINATOR_NOT_AVAILABLE; it may still take effect. One timer serves all,
// since all wait equally long.
type commitQueue struct {
	waiting []*commit
	timer   timer
}

func (q *commitQueue) push(sh *shard, c *commit) {
	timeout := ms(sh.svc.opts.Config.CommitTimeoutMs)
	c.deadline = sh.svc.mono() + timeout
	q.waiting = append(q.waiting, c)
	if !q.timer.armed {
		sh.arm(&q.timer, timeout)
	}
}

// answer replies to c unless its time was up before.
func (q *commitQueue) answer(sh *shard, c *commit) {
	if !c.answered {
		c.answered = true
		sh.after(func() { c.reply(c.resp) })
	}
	for len(q.waiting) > 0 && q.waiting[0].answered {
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
	}
	if len(q.waiting) == 0 {
		q.waiting = nil
	}
}

// expireCommits answers the commits whose time is up.
func (sh *shard) expireCommits() {
	q := &sh.commits
	now := sh.svc.mono()
	for len(q.waiting) > 0 && q.waiting[0].deadline <= now {
		q.waiting[0].giveUp(sh, kerr.CoordinatorNotAvailable)
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
	}
	if len(q.waiting) > 0 {
		sh.arm(&q.timer, q.waiting[0].deadline-now)
	}
}

// failAll answers all with err.
func (q *commitQueue) failAll(sh *shard, err *kerr.Error) {
	for _, c := range q.waiting {
		c.giveUp(sh, err)
	}
	q.waiting = nil
	sh.disarm(&q.timer)
}

// giveUp answers c before its fate is known.
func (c *commit) giveUp(sh *shard, err *kerr.Error) {
	if !c.answered {
		c.answered = true
		c.fail(err)
		sh.after(func() { c.reply(c.resp) })
	}
}
