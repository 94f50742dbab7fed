package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/segment/batch"
	"millrace/tools/rig"
	"millrace/tools/rig/history"
)

// produceTimeout bounds one produce request, the wait for its answer included.
const produceTimeout = 10 * time.Second

// filler produces to one topic request by request, each one batch without idempotence, so that each answer is about
// exactly the records of its request.
type filler struct {
	addr, topic string
	partitions  int32
	h           *history.History
	conn        net.Conn
}

// newFiller creates the topic.
func newFiller(ctx context.Context, addr, topic string, partitions int32, config map[string]*string) (*filler, error) {
	if err := rig.CreateTopic(ctx, addr, topic, int(partitions), config); err != nil {
		return nil, err
	}
	return &filler{addr: addr, topic: topic, partitions: partitions, h: history.New()}, nil
}

// send produces one batch of records with values of the given size. refused is the answer if it was refused, which the
// history then knows; err is about what cannot be judged.
func (f *filler) send(partition int32, records, size int) (refused *kerr.Error, err error) {
	b := batch.NewBuilder()
	stamps := make([]history.Stamp, records)
	for i := range stamps {
		stamps[i] = f.h.Invoke(0, partition)
		b.Add(time.Now().UnixMilli(), nil, stamps[i].Encode(size))
	}
	bytes, err := b.Build(nil)
	if err != nil {
		return nil, err
	}
	answer, err := f.produce(partition, bytes)
	if err != nil {
		f.close()
		return nil, fmt.Errorf("produce to %s-%d: %w", f.topic, partition, err)
	}
	if answer.ErrorCode != 0 {
		for _, s := range stamps {
			f.h.Refuse(s)
		}
		return kerr.TypedErrorForCode(answer.ErrorCode), nil
	}
	for i, s := range stamps {
		f.h.Acknowledge(s, answer.BaseOffset+int64(i))
	}
	return nil, nil
}

// produce is one request and its answer.
func (f *filler) produce(partition int32, records []byte) (*kmsg.ProduceResponseTopicPartition, error) {
	if f.conn == nil {
		c, err := net.DialTimeout("tcp", f.addr, time.Second)
		if err != nil {
			return nil, err
		}
		f.conn = c
	}
	if err := f.conn.SetDeadline(time.Now().Add(produceTimeout)); err != nil {
		return nil, err
	}
	req, resp := kmsg.NewPtrProduceRequest(), kmsg.NewPtrProduceResponse()
	req.Version, resp.Version = 8, 8
	req.Acks, req.TimeoutMillis = -1, int32(produceTimeout/time.Millisecond)
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t.Topic, t.Partitions = f.topic, []kmsg.ProduceRequestTopicPartition{p}
	req.Topics = []kmsg.ProduceRequestTopic{t}
	if err := rig.RoundTrip(f.conn, req, resp); err != nil {
		return nil, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil, fmt.Errorf("answer for %d topics", len(resp.Topics))
	}
	return &resp.Topics[0].Partitions[0], nil
}

func (f *filler) close() {
	if f.conn != nil {
		f.conn.Close()
		f.conn = nil
	}
}

// fill produces until a batch of one small record is refused in every partition. Each refusal must be one that producers
// retry. It returns the bytes of values that were acknowledged.
func (f *filler) fill(ctx context.Context) (bytes int64, err error) {
	for _, c := range []struct{ records, size int }{{64, 4096}, {16, 4096}, {1, 4096}, {1, history.MinValueBytes}} {
		for p := range f.partitions {
			for {
				if err := ctx.Err(); err != nil {
					return bytes, err
				}
				refused, err := f.send(p, c.records, c.size)
				if err != nil {
					return bytes, err
				}
				if refused != nil {
					if !refused.Retriable {
						return bytes, fmt.Errorf("produce on a full disk is refused with %s, which is not retried", refused.Message)
					}
					break
				}
				bytes += int64(c.records * c.size)
			}
		}
	}
	return bytes, nil
}

// awaitWritable produces single records until one is acknowledged in each partition; refusals must be retriable.
func (f *filler) awaitWritable(ctx context.Context) error {
	for p := range f.partitions {
		for {
			refused, err := f.send(p, 1, 512)
			if err == nil && refused == nil {
				break
			}
			if refused != nil {
				err = refused
				if !refused.Retriable {
					return fmt.Errorf("produce to %s-%d: %w", f.topic, p, err)
				}
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s-%d is not writable: %w", f.topic, p, err)
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	return nil
}

// check reads everything back and judges it. start is the log start offset of each partition.
func (f *filler) check(ctx context.Context, found *rig.Findings) error {
	return rig.WithAdmin(f.addr, func(adm *kadm.Client) error {
		ends, err := rig.EndOffsets(ctx, adm, f.topic)
		if err != nil {
			return err
		}
		for p, end := range ends {
			var failed error
			found.Add(f.h.Check(p, 0, rig.ReadBack(ctx, f.addr, f.topic, p, 0, end, &failed))...)
			if failed != nil {
				return failed
			}
		}
		return nil
	})
}
