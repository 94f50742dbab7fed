package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// groupPartitions is how many partitions the topic of each group has.
const groupPartitions = 4

// rounds are the pairs of members that share a group, one after the other.
var rounds = []struct {
	name string
	// produced is how many records each partition holds once both members are in; until is up to where they commit.
	produced, until int64
	restart         bool
}{
	{name: "first half", produced: 10, until: 5},
	{name: "resumes", produced: 20, until: 20},
	{name: "resumes after a restart", produced: 25, until: 25, restart: true},
}

// session is one client's group over all rounds.
type session struct {
	client   client
	group    string
	topic    string
	produced int64
	// committed is where the next round must begin.
	committed map[int32]int64
	failed    bool
}

// groups lets each client share a group with another of its kind, and resume.
func (m *matrix) groups(ctx context.Context) error {
	sessions := map[string]*session{}
	var topics []string
	for _, c := range m.clients {
		s := &session{client: c, group: "g-" + slug(c.name), topic: "g-" + slug(c.name), committed: map[int32]int64{}}
		sessions[c.name] = s
		topics = append(topics, s.topic)
	}
	if err := m.createTopics(ctx, groupPartitions, topics...); err != nil {
		return err
	}
	for i, round := range rounds {
		if round.restart {
			if m.broker == nil {
				continue
			}
			err := m.broker.stop()
			m.report.cell("restart", "SIGTERM, exit 0", err)
			if err == nil {
				err = m.broker.start(ctx)
			}
			if err != nil {
				return err
			}
		}
		m.eachClient(func(c client) {
			s := sessions[c.name]
			if s.failed {
				return
			}
			began := time.Now()
			again, err := m.round(ctx, s, i)
			s.failed = err != nil
			m.report.cell("group "+c.name+" "+round.name, fmt.Sprintf("%d read again, %.1f s", again, time.Since(began).Seconds()), err)
		})
	}
	return nil
}

// round runs one pair of members and checks what they read. It returns how many records were read more than once within
// the round, which at-least-once allows when partitions move.
func (m *matrix) round(ctx context.Context, s *session, i int) (again int, err error) {
	round := rounds[i]
	read := map[int32][]int64{}
	ready := func() error {
		err := m.produceNumbers(ctx, s.topic, s.produced, round.produced)
		s.produced = round.produced
		return err
	}
	if s.client.argv == nil {
		err = m.kcatPair(ctx, s, round.until, ready, read)
	} else {
		err = m.programPair(ctx, s, round.until, ready, read)
	}
	if err != nil {
		return 0, err
	}
	committed, err := m.committed(ctx, s.group, s.topic)
	if err != nil {
		return 0, err
	}
	for p := range int32(groupPartitions) {
		next := s.committed[p]
		offsets := slices.Sorted(slices.Values(read[p]))
		for _, offset := range offsets {
			switch {
			case offset < s.committed[p]:
				return 0, fmt.Errorf("partition %d: offset %d read again, committed was %d", p, offset, s.committed[p])
			case offset > next:
				return 0, fmt.Errorf("partition %d: offset %d read, %d expected: skipped", p, offset, next)
			case offset < next:
				again++
			default:
				next++
			}
		}
		if committed[p] != next {
			return 0, fmt.Errorf("partition %d: committed %d, but read up to %d", p, committed[p], next)
		}
		if s.client.argv != nil && next != round.until {
			return 0, fmt.Errorf("partition %d: read up to %d, want %d", p, next, round.until)
		}
	}
	s.committed = committed
	return again, nil
}

// programPair runs a program with both members in it.
func (m *matrix) programPair(ctx context.Context, s *session, until int64, ready func() error, read map[int32][]int64) error {
	var wasReady bool
	var failed error
	committed := map[int32]int64{}
	err := s.client.runProgram(ctx, map[string]any{"op": "group", "brokers": m.brokers, "group": s.group, "topic": s.topic,
		"partitions": groupPartitions, "until": until}, func(l line) {
		switch l.Event {
		case "ready":
			wasReady = true
			failed = errors.Join(failed, ready())
		case "committed":
			committed[l.Partition] = max(committed[l.Partition], l.Offset)
		case "":
			if l.Offset < committed[l.Partition] {
				failed = errors.Join(failed, fmt.Errorf("member %s read offset %d of partition %d, committed was %d", l.Member, l.Offset, l.Partition, committed[l.Partition]))
			}
			read[l.Partition] = append(read[l.Partition], l.Offset)
		}
	})
	if err == nil && !wasReady {
		err = errors.New("the two members never had partitions at the same time")
	}
	return errors.Join(err, failed)
}

// kcatPair runs two kcats. In the first round each stops after its share (-c), later when all was read.
func (m *matrix) kcatPair(ctx context.Context, s *session, until int64, ready func() error, read map[int32][]int64) error {
	ctx, cancel := context.WithTimeout(ctx, programLimit)
	defer cancel()
	first := len(s.committed) == 0
	args := []string{s.topic}
	if first {
		args = append([]string{"-c", fmt.Sprint(until * groupPartitions / 2)}, args...)
	}
	left := int64(groupPartitions) * until
	for _, offset := range s.committed {
		left -= offset
	}
	var pair []*kcatConsumer
	for range 2 {
		k, err := m.startKcat(ctx, s.group, args...)
		if err != nil {
			return err
		}
		pair = append(pair, k)
	}
	if err := m.awaitMembers(ctx, s.group, 2); err != nil {
		return err
	}
	if err := ready(); err != nil {
		return err
	}
	var mu sync.Mutex
	var reading sync.WaitGroup
	errs := make([]error, len(pair))
	for i, k := range pair {
		reading.Go(func() {
			for {
				_, partition, r, err := k.next()
				if err != nil {
					errs[i] = k.wait()
					return
				}
				mu.Lock()
				read[partition] = append(read[partition], r.offset)
				if left--; left == 0 && !first {
					for _, each := range pair {
						each.leave()
					}
				}
				mu.Unlock()
			}
		})
	}
	reading.Wait()
	return errors.Join(errs...)
}

// produceNumbers fills each partition of a group's topic from one offset to another.
func (m *matrix) produceNumbers(ctx context.Context, topic string, from, to int64) error {
	cl, err := m.connect(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	defer cl.Close()
	var records []*kgo.Record
	for n := from; n < to; n++ {
		for p := range int32(groupPartitions) {
			records = append(records, &kgo.Record{Topic: topic, Partition: p, Value: fmt.Appendf(nil, "%d", n)})
		}
	}
	if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
		return fmt.Errorf("produce to %s: %w", topic, err)
	}
	return nil
}
