package main

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Positions in a record batch's header, in bytes.
const (
	posLength     = 8
	posCRC        = 17
	posAttributes = 21
	posLastDelta  = 23
	headerSize    = 61
	// overhead is the bytes that the length field does not count.
	overhead = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func setBaseOffset(batch []byte, offset int64) { binary.BigEndian.PutUint64(batch, uint64(offset)) }

// checkBatch says whether b is one whole batch with the right CRC, and of how many records.
func checkBatch(b []byte) (records int64, ok bool) {
	if len(b) < headerSize || int(binary.BigEndian.Uint32(b[posLength:]))+overhead != len(b) {
		return 0, false
	}
	if crc32.Checksum(b[posAttributes:], castagnoli) != binary.BigEndian.Uint32(b[posCRC:]) {
		return 0, false
	}
	return int64(binary.BigEndian.Uint32(b[posLastDelta:])) + 1, true
}

// produce appends the batches of a request; the reply waits until all are written.
// A request with acks=0 has no reply.
func (s *server) produce(correlation int32, req *kmsg.ProduceRequest) (reply, error) {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	var writes sync.WaitGroup
	for _, rt := range req.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic = strings.Clone(rt.Topic)
		t.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(rt.Partitions))
		for i, rp := range rt.Partitions {
			p := &t.Partitions[i]
			p.Default()
			p.Partition = rp.Partition
			s.appendBatch(p, rt.Topic, rp.Records, &writes)
		}
		resp.Topics = append(resp.Topics, t)
	}
	if req.Acks == 0 {
		return nil, nil
	}
	send := answer(correlation, resp)
	return func(c *net.TCPConn) error {
		writes.Wait()
		return send(c)
	}, nil
}

// appendBatch appends one partition's part of a request and sets its error code, at
// once or, when the write fails, before writes is done.
func (s *server) appendBatch(p *kmsg.ProduceResponseTopicPartition, topic string, batch []byte, writes *sync.WaitGroup) {
	part := s.partition(topic, p.Partition)
	if part == nil {
		p.ErrorCode = kerr.UnknownTopicOrPartition.Code
		return
	}
	records, ok := checkBatch(batch)
	if !ok {
		p.ErrorCode = kerr.CorruptMessage.Code
		return
	}
	writes.Add(1)
	base, err := part.append(batch, records, func(err error) {
		if err != nil {
			p.ErrorCode = kerr.KafkaStorageError.Code
		}
		writes.Done()
	})
	if err != nil {
		p.ErrorCode = kerr.KafkaStorageError.Code
		writes.Done()
		return
	}
	p.BaseOffset = base
}
