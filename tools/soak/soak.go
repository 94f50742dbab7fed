package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"millrace/tools/rig"
	"millrace/tools/rig/history"
)

const (
	eventsTopic      = "events"
	eventsPartitions = 4
	eventsGroup      = "events-readers"
	producers        = 3

	// settle bounds what is waited for while the producers are at rest.
	settle = 2 * time.Minute
	// deleteRecordsEvery is how often records are deleted from the front of a partition.
	deleteRecordsEvery = 5 * time.Second
)

// eventsPace and the retention make a partition turn over in less than a minute.
var (
	eventsPace   = rig.Pace{Every: 20 * time.Millisecond, Burst: 10, ValueBytes: 2048}
	eventsConfig = map[string]*string{
		"segment.bytes":   kadm.StringPtr("1048576"),
		"retention.bytes": kadm.StringPtr("4194304"),
	}
)

// settings let in minutes happen what takes days.
var settings = []string{
	"log.slab.bytes=16777216",
	"log.retention.check.interval.ms=2000",
	"log.segment.delete.delay.ms=1000",
	"log.cleaner.backoff.ms=2000",
	"log.scrub.interval.ms=5000",
}

// soak is the state of a run.
type soak struct {
	o     *options
	out   io.Writer
	data  string
	rng   *rand.Rand
	found *rig.Findings

	broker  *rig.Broker
	lives   []life
	samples []sample
	tsv     *os.File
	begin   time.Time
	stops   struct{ kills, shutdowns int }
	starts  rig.Restarts
	checks  int

	history   *history.History
	producers []*rig.Producer
	consumer  *rig.Consumer
	keyed     *keyed
	records   int // in the compacted topic when it was last read
	churn     *churn
	trimmer   *trimmer
}

func newSoak(o *options, dir string, out io.Writer) (*soak, error) {
	data := filepath.Join(dir, "data")
	s := &soak{
		o: o, out: out, data: data, rng: rand.New(rand.NewPCG(o.seed, 0)), found: &rig.Findings{}, begin: time.Now(),
		broker:  rig.NewBroker(o.binary, data, filepath.Join(dir, "server.log"), o.listen, o.http, append(append([]string{}, settings...), o.sets...)),
		history: history.New(),
		churn:   &churn{addr: o.listen, deleted: map[string]bool{}},
		trimmer: newTrimmer(o.listen),
	}
	s.lives = plan(time.Duration(o.minutes*float64(time.Minute)), s.rng)
	for id := range producers {
		p, err := rig.NewProducer(o.listen, eventsTopic, int32(id), o.seed, s.history)
		if err != nil {
			return nil, err
		}
		p.Pace = eventsPace
		s.producers = append(s.producers, p)
	}
	var err error
	if s.consumer, err = rig.NewConsumer(o.listen, eventsTopic, eventsGroup, s.found); err != nil {
		return nil, err
	}
	if s.keyed, err = newKeyed(o.listen); err != nil {
		return nil, err
	}
	if s.tsv, err = os.Create(filepath.Join(dir, "samples.tsv")); err != nil {
		return nil, err
	}
	_, err = io.WriteString(s.tsv, tsvHeader)
	return s, err
}

// run goes through the lives. The error is about what could not be done; what must not be is in found.
func (s *soak) run(ctx context.Context) error {
	defer s.broker.Kill()
	defer s.tsv.Close()
	if _, err := s.broker.StartServing(ctx, "", 0); err != nil {
		return err
	}
	err := errors.Join(rig.CreateTopic(ctx, s.o.listen, eventsTopic, eventsPartitions, eventsConfig),
		rig.CreateTopic(ctx, s.o.listen, keyedTopic, keyedPartitions, keyedConfig))
	if err != nil {
		return s.broker.Explain(err)
	}
	all, stop := context.WithCancel(ctx)
	defer stop()
	go s.consumer.Run(all)
	var others sync.WaitGroup
	others.Go(func() { s.churn.run(all) })
	others.Go(func() { s.trimmer.run(all) })
	for i, l := range s.lives {
		if err := s.live(ctx, i, l); err != nil {
			return s.broker.Explain(fmt.Errorf("life %d of %d: %w", i+1, len(s.lives), err))
		}
		if len(s.found.List()) > 0 {
			return nil // what follows would only bury it
		}
	}
	err = s.check(ctx)
	stop()
	others.Wait()
	s.consumer.Close()
	settled, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	return s.broker.Explain(errors.Join(err, s.churn.gone(settled, s.data)))
}

// live lets the broker live and ends it, and starts the next one.
func (s *soak) live(ctx context.Context, i int, l life) error {
	stop := s.produce(ctx)
	err := s.watch(ctx, i, l.d)
	if err == nil && l.long {
		stop()
		err = s.check(ctx)
		stop = s.produce(ctx)
		if err == nil {
			err = s.watchNothing(ctx)
		}
	}
	if err == nil {
		err = s.end(ctx, l)
	}
	stop()
	if err != nil {
		return err
	}
	if l.long {
		fmt.Fprintf(s.out, "%v: life %d of %d is over, %d records in the compacted topic\n",
			time.Since(s.begin).Round(time.Second), i+1, len(s.lives), s.records)
	}
	return s.lookAt(ctx)
}

// watchNothing lets the producers write a little, so that the end meets them.
func (s *soak) watchNothing(ctx context.Context) error { return s.broker.StayAlive(ctx, time.Second) }

// produce starts the producers; stop waits until they have stopped handing over.
func (s *soak) produce(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, p := range s.producers {
		running.Go(func() { p.Run(ctx, eventsPartitions) })
	}
	running.Go(func() { s.keyed.run(ctx) })
	return func() { cancel(); running.Wait() }
}

// sampleEvery is between two samples: each second in short runs, seldom enough in long ones.
func (s *soak) sampleEvery() time.Duration {
	return max(time.Second, min(5*time.Second, time.Duration(s.o.minutes*float64(time.Minute)/900)))
}

// watch takes samples for d.
func (s *soak) watch(ctx context.Context, i int, d time.Duration) error {
	for until := time.Now().Add(d); time.Now().Before(until); {
		if err := s.broker.StayAlive(ctx, min(s.sampleEvery(), time.Until(until))); err != nil {
			return err
		}
		x, err := take(ctx, s.broker.PID(), s.o.http, s.data)
		if err != nil {
			return fmt.Errorf("take a sample: %w", err)
		}
		if x.damaged > 0 {
			return fmt.Errorf("the broker holds %d ranges of its log to be damaged", x.damaged)
		}
		x.life = i
		s.samples = append(s.samples, x)
		if _, err := s.tsv.WriteString(x.tsv(s.begin)); err != nil {
			return err
		}
	}
	return nil
}

// end stops the broker as the plan says while the clients go on, and starts it again.
func (s *soak) end(ctx context.Context, l life) error {
	if l.kill {
		s.stops.kills++
		if err := s.broker.Kill(); err != nil {
			return err
		}
	} else {
		s.stops.shutdowns++
		ctx, cancel := context.WithTimeout(ctx, settle)
		defer cancel()
		if err := s.broker.Stop(ctx); err != nil {
			return err
		}
	}
	took, err := s.broker.StartServing(ctx, eventsTopic, eventsPartitions)
	s.starts = append(s.starts, took)
	return err
}

// lookAt checks what can be seen at once after a restart.
func (s *soak) lookAt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	var failed error
	for _, p := range s.producers {
		failed = errors.Join(failed, p.Failure())
	}
	if failed != nil {
		return failed
	}
	deleted := s.trimmer.answered()
	return rig.WithAdmin(s.o.listen, func(adm *kadm.Client) error {
		starts, err := rig.StartOffsets(ctx, adm, eventsTopic)
		if err != nil {
			return err
		}
		for p, start := range starts {
			if start < deleted[p] {
				s.found.Add(history.Violation{Kind: history.WentBack, Partition: p,
					Text: fmt.Sprintf("the log starts at %d, DeleteRecords has answered %d", start, deleted[p])})
			}
		}
		_, err = s.consumer.Observe(ctx, adm, eventsPartitions)
		return err
	})
}

// check reads everything that is there and judges it. Nothing is produced.
func (s *soak) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	s.checks++
	for _, p := range s.producers {
		if err := p.Flush(ctx); err != nil {
			return err
		}
	}
	if err := s.keyed.flush(ctx); err != nil {
		return err
	}
	s.trimmer.pause()
	defer s.trimmer.resume()
	for p := range int32(eventsPartitions) {
		if err := s.checkPartition(ctx, p); err != nil {
			return err
		}
	}
	var err error
	s.records, err = s.keyed.check(ctx, s.o.listen, s.found)
	return err
}

// checkPartition reads one partition of events. Retention may move its start meanwhile; then it is read again.
func (s *soak) checkPartition(ctx context.Context, p int32) error {
	return rig.WithAdmin(s.o.listen, func(adm *kadm.Client) error {
		ends, err := rig.EndOffsets(ctx, adm, eventsTopic)
		if err != nil {
			return err
		}
		for {
			before, err := rig.StartOffsets(ctx, adm, eventsTopic)
			if err != nil {
				return err
			}
			var failed error
			vs := s.history.Check(p, before[p], rig.ReadBack(ctx, s.o.listen, eventsTopic, p, before[p], ends[p], &failed))
			if failed != nil {
				return failed
			}
			after, err := rig.StartOffsets(ctx, adm, eventsTopic)
			if err != nil {
				return err
			}
			if after[p] == before[p] || len(vs) == 0 {
				s.found.Add(vs...)
				s.history.Trim(p, before[p])
				return nil
			}
		}
	})
}

// flat judges the samples.
func (s *soak) flat(out io.Writer) error {
	var long []int
	for i, l := range s.lives {
		if l.long && len(s.samples) > 0 && i <= s.samples[len(s.samples)-1].life {
			long = append(long, i)
		}
	}
	if len(long) == 0 {
		return errors.New("no long life to judge")
	}
	w := bufio.NewWriter(out)
	defer w.Flush()
	return judge(s.samples, long, w)
}

// report prints what was done.
func (s *soak) report(took time.Duration) {
	sent, acked, _ := s.history.Counts()
	fmt.Fprintf(s.out, "%v: %d kills, %d clean shutdowns, start to serving median %v, max %v; %d full checks\n",
		took.Round(time.Second), s.stops.kills, s.stops.shutdowns,
		s.starts.Median().Round(time.Millisecond), s.starts.Max().Round(time.Millisecond), s.checks)
	fmt.Fprintf(s.out, "%d records sent, %d acknowledged, %d consumed; %d topics made and deleted; records deleted %d times\n",
		sent, acked, s.consumer.Records(), s.churn.count(), s.trimmer.count())
}
