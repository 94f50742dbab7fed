package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/tools/rig"
)

const bigTopic = "big"

// bigLog fills a log of o.bigGB over some partitions, kills the broker while more is
// coming, and returns how long the restart took until it served. The log must not end
// before what was acknowledged.
func bigLog(ctx context.Context, o *options, dir string, partitions int, out io.Writer) (time.Duration, error) {
	b := o.broker(dir)
	defer b.Kill()
	if _, err := b.StartServing(ctx, "", 0); err != nil {
		return 0, err
	}
	if err := rig.CreateTopic(ctx, o.listen, bigTopic, partitions, nil); err != nil {
		return 0, b.Explain(err)
	}
	acked, err := fill(ctx, o, b)
	if err != nil {
		return 0, b.Explain(err)
	}
	took, err := b.StartServing(ctx, bigTopic, partitions)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(out, "%.1f GB in %d partitions: serving %v after kill -9\n", o.bigGB, partitions, took.Round(time.Millisecond))
	err = rig.WithAdmin(o.listen, func(adm *kadm.Client) error {
		ends, err := rig.EndOffsets(ctx, adm, bigTopic)
		if err != nil {
			return err
		}
		total := int64(0)
		for _, end := range ends {
			total += end
		}
		if total < acked {
			return fmt.Errorf("%d records are in the log after the restart, %d were acknowledged", total, acked)
		}
		return nil
	})
	return took, err
}

// fill produces until o.bigGB have been acknowledged, then kills the broker while the
// producer goes on. It returns the number of acknowledged records.
func fill(ctx context.Context, o *options, b *rig.Broker) (int64, error) {
	const size = 1024
	cl, err := kgo.NewClient(append(rig.ClientOptions(o.listen), kgo.DefaultProduceTopic(bigTopic),
		kgo.ProducerBatchCompression(kgo.NoCompression()))...) // bytes of values are bytes of log
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	want := int64(o.bigGB * 1e9 / size)
	var acked, failed atomic.Int64
	full := make(chan struct{})
	producing, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; producing.Err() == nil; i++ {
			value := make([]byte, size)
			for j := range value {
				value[j] = byte(i >> (j % 8))
			}
			cl.Produce(producing, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
				switch {
				case err != nil:
					failed.Add(1)
				case acked.Add(1) == want:
					close(full)
				}
			})
		}
	}()
	select {
	case <-full:
	case <-ctx.Done():
		err = fmt.Errorf("%d of %d records acknowledged, %d failed: %w", acked.Load(), want, failed.Load(), ctx.Err())
	case <-b.Ended():
		err = errors.New("broker ended by itself")
	}
	if err == nil {
		err = b.Kill()
	}
	n := acked.Load()
	stop()
	<-done
	return n, err
}
