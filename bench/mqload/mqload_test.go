package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"millrace/bench/internal/payload"
)

// loop is a queue that hands every message to its consumer and confirms it, but refuses
// every refuse-th and loses every lose-th one.
type loop struct {
	l            *load
	n            int
	refuse, lose int
	messages     chan []byte
}

func (q *loop) publish(_ context.Context, value []byte) error {
	q.n++
	if q.lose == 0 || q.n%q.lose != 0 {
		q.messages <- value
	}
	if q.refuse > 0 && q.n%q.refuse == 0 {
		q.l.confirmed(errors.New("refused"))
	} else {
		q.l.confirmed(nil)
	}
	return nil
}

func (q *loop) close() error { close(q.messages); return nil }

func runLoop(t *testing.T, o *options, q *loop) (records, errs int64, p50 float64) {
	t.Helper()
	values, err := payload.Values("text", o.size)
	if err != nil {
		t.Fatal(err)
	}
	q.l, q.messages = newLoad(o, values), make(chan []byte, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m := range q.messages {
			q.l.got(m)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	x, err := q.l.run(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	_ = q.close()
	<-done
	return x.Records, x.Errors, x.E2EMs["p50"]
}

func TestMessagesAreTimedAndTheProbeIsNot(t *testing.T) {
	o := &options{size: 100, records: 500, rate: 5000, maxTime: time.Minute}
	if records, errs, p50 := runLoop(t, o, &loop{}); records != 500 || errs != 0 || p50 > 1000 {
		t.Errorf("%d records, %d errors, p50 %v ms", records, errs, p50)
	}
}

func TestWhatIsRefusedOrLostIsAnError(t *testing.T) {
	o := &options{size: 100, records: 500, maxTime: time.Minute}
	if records, errs, _ := runLoop(t, o, &loop{refuse: 2}); records != 250 || errs != 250 {
		t.Errorf("%d records, %d errors", records, errs)
	}
	if _, errs, _ := runLoop(t, o, &loop{lose: 100}); errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

func TestAPhaseThatIsCutWaitsForWhatWasSent(t *testing.T) {
	o := &options{size: 100, records: 1_000_000, rate: 1000, maxTime: 100 * time.Millisecond}
	if records, errs, _ := runLoop(t, o, &loop{}); records == 0 || records > 200 || errs != 0 {
		t.Errorf("%d records, %d errors", records, errs)
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--kind", "pigeon"}, {"--mode", "produce"}, {"--size", "8"}, {"--broker-pid", "x"}} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	o, err := parseOptions([]string{"--kind", "rabbitmq", "--broker-pid", "7,8", "--brokers", "127.0.0.1:1"})
	if err != nil || len(o.pids) != 2 || o.broker != "127.0.0.1:1" {
		t.Errorf("%+v, %v", o, err)
	}
}
