package group

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A Service with its own goroutines and real time, many clients at once: mostly
// for the race detector, and that everything comes to an end.
func TestManyClientsAtOnce(t *testing.T) {
	d := newDisk()
	stopDisk := make(chan struct{})
	var disk sync.WaitGroup
	disk.Go(func() {
		for {
			if !d.complete() {
				time.Sleep(100 * time.Microsecond) // the disk's latency
			}
			select {
			case <-stopDisk:
				return
			default:
			}
		}
	})
	cfg := DefaultConfig()
	cfg.InitialRebalanceDelayMs, cfg.RetentionCheckMs = 10, 5
	s := New(Options{Topics: d, Config: cfg, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s.Start()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKey = "g"
	for s.FindCoordinator(server.Client{}, find).ErrorCode != 0 {
		time.Sleep(time.Millisecond)
	}
	var requests atomic.Int64
	var clients sync.WaitGroup
	for i := range 24 {
		clients.Go(func() {
			c := liveClient{s: s, group: fmt.Sprint("g", i%6), conn: uint64(i + 1), requests: &requests}
			for range 3 {
				if err := c.work(10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	d.mu.Lock()
	delete(d.topics, "t1")
	d.mu.Unlock()
	s.TopicDeleted("t1")
	s.Close()
	close(stopDisk)
	disk.Wait()
	if requests.Load() < 24*3*10 {
		t.Fatalf("%d requests", requests.Load())
	}
}

// liveClient joins, commits and leaves, as a consumer does.
type liveClient struct {
	s        *Service
	group    string
	conn     uint64
	requests *atomic.Int64
}

func wait[T any](c *liveClient, send func(reply func(T))) (resp T, err error) {
	ch := make(chan T, 2)
	send(func(r T) { ch <- r })
	c.requests.Add(1)
	select {
	case resp = <-ch:
		return resp, nil
	case <-time.After(15 * time.Second):
		return resp, fmt.Errorf("%T is not answered", resp)
	}
}

func (c *liveClient) work(commits int) error {
	client := server.Client{ID: "c", Host: "h", ConnID: c.conn}
	id, deadline := "", time.Now().Add(15*time.Second)
	for commits > 0 && time.Now().Before(deadline) {
		join, err := wait(c, func(reply func(*kmsg.JoinGroupResponse)) { c.s.JoinGroup(client, joinRequest(c.group, id), reply) })
		if err != nil {
			return err
		}
		if id = join.MemberID; join.ErrorCode != 0 {
			continue
		}
		sync := kmsg.NewPtrSyncGroupRequest()
		sync.Version, sync.Group, sync.MemberID, sync.Generation = 3, c.group, id, join.Generation
		synced, err := wait(c, func(reply func(*kmsg.SyncGroupResponse)) { c.s.SyncGroup(client, sync, reply) })
		if err != nil {
			return err
		}
		for synced.ErrorCode == 0 && commits > 0 {
			r, err := wait(c, func(reply func(*kmsg.OffsetCommitResponse)) {
				c.s.OffsetCommit(client, commitRequest(c.group, id, join.Generation, "t2", 0, int64(commits)), reply)
			})
			if err != nil {
				return err
			}
			if r.Topics[0].Partitions[0].ErrorCode != 0 {
				break
			}
			beat := kmsg.NewPtrHeartbeatRequest()
			beat.Group, beat.MemberID, beat.Generation = c.group, id, join.Generation
			if c.s.Heartbeat(client, beat).ErrorCode != 0 {
				break
			}
			commits--
		}
	}
	if commits > 0 {
		return fmt.Errorf("group %s: %d commits left", c.group, commits)
	}
	if c.conn%3 == 0 {
		c.s.Disconnected(c.conn) // a crash: the others must not hang
	}
	leave := kmsg.NewPtrLeaveGroupRequest()
	leave.Group, leave.MemberID = c.group, id
	_, err := wait(c, func(reply func(*kmsg.LeaveGroupResponse)) { c.s.LeaveGroup(client, leave, reply) })
	return err
}
