package rig

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/tools/rig/history"
)

// Pace is how fast a producer writes: a burst of up to Burst records each Every, with values of up to ValueBytes.
type Pace struct {
	Every      time.Duration
	Burst      int
	ValueBytes int
}

// DefaultPace keeps a log small enough to read back, and has kills meet batches of every size.
var DefaultPace = Pace{Every: 10 * time.Millisecond, Burst: 40, ValueBytes: 4096}

// ClientOptions are what every client of a run is made with: it comes back within
// milliseconds of the broker.
func ClientOptions(addr string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(addr),
		kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }),
		kgo.DialTimeout(2 * time.Second),
		// A kill right after a connection's first request looks like a broker that wants
		// another security protocol, which the client would not try again.
		kgo.AlwaysRetryEOF(),
	}
}

// codecs are what the producers compress with, in turn.
var codecs = []kgo.CompressionCodec{kgo.NoCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.SnappyCompression()}

// Producer writes stamped records to all partitions until it is told to stop.
type Producer struct {
	Pace Pace // DefaultPace unless set before Run

	id  int32
	cl  *kgo.Client
	h   *history.History
	rng *rand.Rand
	// failed gets the first error of a record; with unlimited retries there should be none.
	failed chan error
}

// NewProducer makes an idempotent producer for a topic; id tells it apart in h and chooses its codec, seed its moments.
func NewProducer(addr, topic string, id int32, seed uint64, h *history.History) (*Producer, error) {
	cl, err := kgo.NewClient(append(ClientOptions(addr),
		kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(codecs[int(id)%len(codecs)]),
		kgo.ProducerLinger(0),
		kgo.MaxBufferedRecords(2000),
		kgo.StopProducerOnDataLossDetected(),
	)...)
	if err != nil {
		return nil, err
	}
	return &Producer{Pace: DefaultPace, id: id, cl: cl, h: h, rng: rand.New(rand.NewPCG(seed, uint64(id)+1)), failed: make(chan error, 1)}, nil
}

// Run produces bursts until ctx ends. It is the only goroutine that hands over this
// producer's records, so that their numbers rise in the order of handing over.
func (p *Producer) Run(ctx context.Context, partitions int) {
	tick := time.NewTicker(p.Pace.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for range p.rng.IntN(p.Pace.Burst + 1) {
			p.send(int32(p.rng.IntN(partitions)))
		}
	}
}

// send hands one record over; its outcome goes to the history when it is known.
func (p *Producer) send(partition int32) {
	stamp := p.h.Invoke(p.id, partition)
	size := history.MinValueBytes + p.rng.IntN(1+p.rng.IntN(p.Pace.ValueBytes))
	// Not the run's context: a record must not be given up because the rounds are over.
	p.cl.Produce(context.Background(), &kgo.Record{Partition: partition, Value: stamp.Encode(size)}, func(r *kgo.Record, err error) {
		if err == nil {
			p.h.Acknowledge(stamp, r.Offset)
			return
		}
		if errors.Is(err, kgo.ErrClientClosed) {
			return
		}
		select {
		case p.failed <- fmt.Errorf("producer %d, record %d for partition %d: %w", p.id, stamp.Seq, partition, err):
		default:
		}
	})
}

// Failure is the error with which the producer gave up, nil if it did not.
func (p *Producer) Failure() error {
	select {
	case err := <-p.failed:
		p.failed <- err
		return err
	default:
		return nil
	}
}

// Flush waits until every record handed over has its outcome; an error if that takes longer than ctx, or the producer
// has given up.
func (p *Producer) Flush(ctx context.Context) error {
	err := p.cl.Flush(ctx)
	if err = errors.Join(err, p.Failure()); err != nil {
		return fmt.Errorf("producer %d has records left: %w", p.id, err)
	}
	return nil
}

// Close ends the client.
func (p *Producer) Close() { p.cl.Close() }
