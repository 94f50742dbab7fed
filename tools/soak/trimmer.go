package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"millrace/tools/rig"
)

// trimmer deletes records from the front of the partitions of events.
type trimmer struct {
	addr string

	working sync.Mutex // held while records are being deleted, and while it rests

	mu    sync.Mutex
	low   map[int32]int64 // the highest log start that was answered
	times int
}

func newTrimmer(addr string) *trimmer { return &trimmer{addr: addr, low: map[int32]int64{}} }

// run goes on until ctx ends.
func (t *trimmer) run(ctx context.Context) {
	tick := time.NewTicker(deleteRecordsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		t.working.Lock()
		// What fails meets a broker that is down.
		_ = t.trim(ctx, rand.Int32N(eventsPartitions))
		t.working.Unlock()
	}
}

// trim deletes the first quarter of a partition.
func (t *trimmer) trim(ctx context.Context, p int32) error {
	ctx, cancel := context.WithTimeout(ctx, churnTimeout)
	defer cancel()
	return rig.WithAdmin(t.addr, func(adm *kadm.Client) error {
		starts, err := rig.StartOffsets(ctx, adm, eventsTopic)
		if err != nil {
			return err
		}
		ends, err := rig.EndOffsets(ctx, adm, eventsTopic)
		if err != nil {
			return err
		}
		var offsets kadm.Offsets
		offsets.AddOffset(eventsTopic, p, starts[p]+(ends[p]-starts[p])/4, -1)
		res, err := adm.DeleteRecords(ctx, offsets)
		if err != nil {
			return err
		}
		if r, ok := res.Lookup(eventsTopic, p); ok && r.Err == nil {
			t.mu.Lock()
			t.low[p] = max(t.low[p], r.LowWatermark)
			t.times++
			t.mu.Unlock()
		}
		return nil
	})
}

// pause returns when nothing is being deleted, until resume.
func (t *trimmer) pause()  { t.working.Lock() }
func (t *trimmer) resume() { t.working.Unlock() }

// answered is the log start of each partition that DeleteRecords has answered last.
func (t *trimmer) answered() map[int32]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[int32]int64{}
	for p, at := range t.low {
		out[p] = at
	}
	return out
}

func (t *trimmer) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.times
}
