package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

// kafkaGo drives segmentio/kafka-go. It has no idempotent producer.
type kafkaGo struct{ cmd *command }

var kafkaGoCodecs = map[string]kafka.Compression{"none": 0, "gzip": kafka.Gzip, "snappy": kafka.Snappy, "lz4": kafka.Lz4, "zstd": kafka.Zstd}

func (k kafkaGo) brokers() []string { return strings.Split(k.cmd.Brokers, ",") }

func (k kafkaGo) produce(ctx context.Context, t target, records []record) error {
	w := &kafka.Writer{Addr: kafka.TCP(k.brokers()...), Topic: t.Topic, RequiredAcks: kafka.RequireAll, Compression: kafkaGoCodecs[t.Codec],
		BatchTimeout: 10 * time.Millisecond, BatchBytes: 2 << 20,
		Balancer: kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return int(m.WriterData.(int32)) })}
	messages := make([]kafka.Message, 0, len(records))
	for _, r := range records {
		m := kafka.Message{Key: r.Key, Value: r.Value, Time: time.UnixMilli(r.Timestamp), WriterData: r.Partition}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, kafka.Header{Key: h.Key, Value: h.Value})
		}
		messages = append(messages, m)
	}
	return errors.Join(w.WriteMessages(ctx, messages...), w.Close())
}

func kafkaGoRecord(m kafka.Message) record {
	r := record{Topic: m.Topic, Partition: int32(m.Partition), Offset: m.Offset, Timestamp: m.Time.UnixMilli(), Key: m.Key, Value: m.Value}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, header{h.Key, h.Value})
	}
	return r
}

func (k kafkaGo) consume(ctx context.Context, topics []ends) error {
	for _, t := range topics {
		for p, end := range t.Ends {
			if err := k.partition(ctx, t.Topic, p, end); err != nil {
				return fmt.Errorf("%s/%d: %w", t.Topic, p, err)
			}
		}
	}
	return nil
}

func (k kafkaGo) partition(ctx context.Context, topic string, partition int, end int64) error {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: k.brokers(), Topic: topic, Partition: partition, MaxBytes: 8 << 20, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	for read := int64(0); read < end; read++ {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return fmt.Errorf("%d of %d records: %w", read, end, err)
		}
		printRecord("", kafkaGoRecord(m))
	}
	return nil
}

func (k kafkaGo) member(ctx context.Context, name string, p *progress) error {
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: k.cmd.Group, Brokers: k.brokers(), Topics: []string{k.cmd.Topic},
		HeartbeatInterval: 500 * time.Millisecond, StartOffset: kafka.FirstOffset})
	if err != nil {
		return err
	}
	defer group.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	for {
		gen, err := group.Next(ctx)
		select {
		case <-p.done:
			return nil
		default:
		}
		var refused kafka.Error
		if errors.As(err, &refused) && refused.Temporary() {
			continue // the other member came in between: join again, as the library's own Reader does
		}
		if err != nil {
			return fmt.Errorf("member %s: %w", name, err)
		}
		assignments := gen.Assignments[k.cmd.Topic]
		p.hold(name, len(assignments))
		for _, a := range assignments {
			gen.Start(func(ctx context.Context) { k.claim(ctx, gen, name, a, p) })
		}
	}
}

// claim reads one partition for as long as the generation lasts.
func (k kafkaGo) claim(ctx context.Context, gen *kafka.Generation, name string, a kafka.PartitionAssignment, p *progress) {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: k.brokers(), Topic: k.cmd.Topic, Partition: a.ID, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	if err := r.SetOffset(a.Offset); err != nil {
		return
	}
	for {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return // the generation ended; what is missing is noticed by the time limit
		}
		if m.Offset >= k.cmd.Until {
			continue
		}
		printRecord(name, kafkaGoRecord(m))
		if err := gen.CommitOffsets(map[string]map[int]int64{k.cmd.Topic: {a.ID: m.Offset + 1}}); err != nil {
			return
		}
		p.commit(int32(a.ID), m.Offset+1)
	}
}
