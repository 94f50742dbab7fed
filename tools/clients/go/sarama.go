package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// saramaClient drives IBM/sarama at one protocol version.
type saramaClient struct {
	cmd     *command
	version sarama.KafkaVersion
}

var (
	saramaNewest = sarama.MaxVersion
	saramaOld    = sarama.V2_8_0_0
	saramaCodecs = map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP,
		"snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD}
)

func newSarama(cmd *command, version sarama.KafkaVersion) saramaClient {
	return saramaClient{cmd, version}
}

func (s saramaClient) config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = s.version
	c.Consumer.Return.Errors = true
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	c.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	return c
}

func (s saramaClient) brokers() []string { return strings.Split(s.cmd.Brokers, ",") }

func (s saramaClient) produce(_ context.Context, t target, records []record) error {
	c := s.config()
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Compression = saramaCodecs[t.Codec]
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Return.Successes = true
	c.Producer.MaxMessageBytes = 2 << 20
	c.Producer.Idempotent = t.Idempotent
	c.Net.MaxOpenRequests = 1
	p, err := sarama.NewSyncProducer(s.brokers(), c)
	if err != nil {
		return err
	}
	messages := make([]*sarama.ProducerMessage, 0, len(records))
	for _, r := range records {
		m := &sarama.ProducerMessage{Topic: t.Topic, Partition: r.Partition, Timestamp: time.UnixMilli(r.Timestamp)}
		if r.Key != nil {
			m.Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			m.Value = sarama.ByteEncoder(r.Value)
		}
		for _, h := range r.Headers {
			m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(h.Key), Value: h.Value})
		}
		messages = append(messages, m)
	}
	return errors.Join(p.SendMessages(messages), p.Close())
}

func saramaRecord(m *sarama.ConsumerMessage) record {
	r := record{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Timestamp: m.Timestamp.UnixMilli(), Key: m.Key, Value: m.Value}
	for _, h := range m.Headers {
		r.Headers = append(r.Headers, header{string(h.Key), h.Value})
	}
	return r
}

func (s saramaClient) consume(ctx context.Context, topics []ends) error {
	consumer, err := sarama.NewConsumer(s.brokers(), s.config())
	if err != nil {
		return err
	}
	defer consumer.Close()
	var parts sync.WaitGroup
	errs := make(chan error, 1)
	for _, t := range topics {
		for p, end := range t.Ends {
			if end == 0 {
				continue
			}
			pc, err := consumer.ConsumePartition(t.Topic, int32(p), sarama.OffsetOldest)
			if err != nil {
				return fmt.Errorf("%s/%d: %w", t.Topic, p, err)
			}
			parts.Add(1)
			go func() {
				defer parts.Done()
				if err := s.partition(ctx, pc, end); err != nil {
					select {
					case errs <- fmt.Errorf("%s/%d: %w", t.Topic, p, err):
					default:
					}
				}
			}()
		}
	}
	parts.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (s saramaClient) partition(ctx context.Context, pc sarama.PartitionConsumer, end int64) error {
	defer pc.AsyncClose()
	for read := int64(0); read < end; read++ {
		select {
		case m := <-pc.Messages():
			printRecord("", saramaRecord(m))
		case err := <-pc.Errors():
			return err
		case <-ctx.Done():
			return fmt.Errorf("%d of %d records: %w", read, end, ctx.Err())
		}
	}
	return nil
}

func (s saramaClient) member(ctx context.Context, name string, p *progress) error {
	g, err := sarama.NewConsumerGroup(s.brokers(), s.cmd.Group, s.config())
	if err != nil {
		return err
	}
	defer g.Close()
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
		err := g.Consume(ctx, []string{s.cmd.Topic}, saramaMember{s.cmd, name, p})
		select {
		case <-p.done:
			return nil
		default:
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// saramaMember is one member of a group.
type saramaMember struct {
	cmd  *command
	name string
	p    *progress
}

func (m saramaMember) Setup(s sarama.ConsumerGroupSession) error {
	m.p.hold(m.name, len(s.Claims()[m.cmd.Topic]))
	return nil
}

func (m saramaMember) Cleanup(sarama.ConsumerGroupSession) error {
	m.p.hold(m.name, 0)
	return nil
}

func (m saramaMember) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		if message.Offset >= m.cmd.Until {
			continue
		}
		printRecord(m.name, saramaRecord(message))
		s.MarkMessage(message, "")
		s.Commit()
		m.p.commit(message.Partition, message.Offset+1)
	}
	return nil
}
