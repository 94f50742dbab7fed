package segment

import "sync"

// keeper is the dir's goroutine for what must not stall an appender or the writer: making, naming, extending and
// sealing files, and the snapshots of rolled segments. Jobs lock logs themselves.
//
// Order matters: the jobs of later run in the order they were handed in, so that a recovery point never passes
// a segment that is not sealed or a snapshot that is not written. The jobs of soon overtake them; somebody waits for them.
type keeper struct {
	mu      sync.Mutex
	wake    sync.Cond
	urgent  []func()
	normal  []func()
	closing bool
	stopped chan struct{}
	// rested is called when the queues have run empty, and now and then if they do not.
	rested func()
}

func newKeeper(rested func()) *keeper {
	k := &keeper{stopped: make(chan struct{}), rested: rested}
	k.wake.L = &k.mu
	return k
}

// soon hands in a job somebody waits for. It may be called with any lock held.
func (k *keeper) soon(job func()) { k.add(&k.urgent, job) }

// later hands in a job that runs after all those handed in by later before.
func (k *keeper) later(job func()) { k.add(&k.normal, job) }

func (k *keeper) add(queue *[]func(), job func()) {
	k.mu.Lock()
	*queue = append(*queue, job)
	k.mu.Unlock()
	k.wake.Signal()
}

func (k *keeper) run() {
	defer close(k.stopped)
	for jobs := 0; ; {
		job, idle, ok := k.next()
		if !ok {
			k.rested()
			return
		}
		job()
		if jobs++; idle || jobs == restAfter {
			k.rested()
			jobs = 0
		}
	}
}

// restAfter is how many jobs run at most between two rests: the queue of a busy dir may never be empty, and what rested
// writes, the recovery points, must not wait for that.
const restAfter = 32

// next waits for a job. idle: it is the last one for now. Not ok: closed, and all jobs are done.
func (k *keeper) next() (job func(), idle, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.urgent) == 0 && len(k.normal) == 0 {
		if k.closing {
			return nil, false, false
		}
		k.wake.Wait()
	}
	queue := &k.urgent
	if len(*queue) == 0 {
		queue = &k.normal
	}
	job = (*queue)[0]
	(*queue)[0] = nil
	*queue = (*queue)[1:]
	return job, len(k.urgent) == 0 && len(k.normal) == 0, true
}

// drain waits until all jobs handed in so far are done. Not from a job, and with no log's lock held.
func (k *keeper) drain() {
	done := make(chan struct{})
	k.later(func() { close(done) })
	select {
	case <-done:
	case <-k.stopped: // closed meanwhile: nothing runs any more
	}
}

// close runs what is queued and ends the goroutine.
func (k *keeper) close() {
	k.mu.Lock()
	k.closing = true
	k.mu.Unlock()
	k.wake.Signal()
	<-k.stopped
}
