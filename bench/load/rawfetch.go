package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// rawFetchVersion of Fetch is the newest whose encoding has no tagged fields.
	rawFetchVersion = 11
	// What one Fetch may bring, as much as franz-go and the Java client ask for.
	fetchBytes          = 50 << 20
	fetchPartitionBytes = 1 << 20
)

// rawReader reads its share of the partitions on a socket of its own, one Fetch after the
// other, and looks no further than the headers of batches: decoding records costs a client
// more than reading costs a broker, and would be what is measured.
type rawReader struct {
	req  *kmsg.FetchRequest
	conn net.Conn
	body []byte
}

// consumeRaw is consume without a client library.
func (o *options) consumeRaw(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, o.maxTime)
	defer cancel()
	ph, err := o.begin()
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	var done sync.WaitGroup
	for _, req := range o.fetchRequests() {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", o.seeds[0])
		if err != nil {
			return fmt.Errorf("connect to %s: %w", o.seeds[0], err)
		}
		defer conn.Close()
		defer context.AfterFunc(reading, func() { conn.Close() })()
		r := rawReader{req: req, conn: conn}
		done.Go(func() {
			ended := r.run(func(records int64) {
				if ph.Done.Add(records) >= o.records {
					stop()
				}
			})
			if reading.Err() == nil {
				ph.Fail(ended)
				stop() // what this one does not read never comes
			}
		})
	}
	done.Wait()
	if n := ph.Done.Load(); n < o.records {
		ph.Fail(fmt.Errorf("only %d of %d records came in %v", n, o.records, o.maxTime))
	}
	return o.end(w, ph, "consume", nil, nil)
}

// fetchRequests divide the partitions among the consumers, from offset 0 on.
func (o *options) fetchRequests() []*kmsg.FetchRequest {
	out := make([]*kmsg.FetchRequest, min(o.consumers, o.topics*o.partitions))
	for i := range out {
		r := kmsg.NewPtrFetchRequest()
		r.SetVersion(rawFetchVersion)
		r.ReplicaID, r.MaxWaitMillis, r.MinBytes, r.MaxBytes = -1, int32(o.fetchWait.Milliseconds()), 1, fetchBytes
		r.SessionEpoch = -1
		out[i] = r
	}
	i := 0
	for _, name := range o.topicNames() {
		for p := range int32(o.partitions) {
			r := out[i%len(out)]
			i++
			if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != name {
				t := kmsg.NewFetchRequestTopic()
				t.Topic = name
				r.Topics = append(r.Topics, t)
			}
			part := kmsg.NewFetchRequestTopicPartition()
			part.Partition, part.PartitionMaxBytes = p, fetchPartitionBytes
			t := &r.Topics[len(r.Topics)-1]
			t.Partitions = append(t.Partitions, part)
		}
	}
	return out
}

// run fetches until the connection ends, with an error that says why, and tells got how
// many records each answer has.
func (r *rawReader) run(got func(records int64)) (ended error) {
	in := bufio.NewReaderSize(r.conn, 64<<10)
	var out []byte
	for id := uint32(0); ; id++ {
		be := binary.BigEndian
		out = be.AppendUint32(out[:0], 0) // length
		out = be.AppendUint16(out, uint16(r.req.Key()))
		out = be.AppendUint16(out, rawFetchVersion)
		out = be.AppendUint32(out, id)
		out = be.AppendUint16(out, 4)
		out = append(out, "load"...)
		out = r.req.AppendTo(out)
		be.PutUint32(out, uint32(len(out)-4))
		if _, err := r.conn.Write(out); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		resp, err := r.answer(in)
		if err != nil {
			return err
		}
		n, err := r.advance(resp)
		if err != nil {
			return err
		}
		got(n)
	}
}

// answer reads one answer, whose batches are views into memory that the next one uses.
func (r *rawReader) answer(in *bufio.Reader) (*kmsg.FetchResponse, error) {
	var head [8]byte // length and correlation id
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	n := int(binary.BigEndian.Uint32(head[:])) - 4
	if n < 0 || n > 2*fetchBytes {
		return nil, fmt.Errorf("answer of %d bytes", n)
	}
	if cap(r.body) < n {
		r.body = make([]byte, n+n/4)
	}
	if _, err := io.ReadFull(in, r.body[:n]); err != nil {
		return nil, fmt.Errorf("read an answer: %w", err)
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(rawFetchVersion)
	if err := resp.UnsafeReadFrom(r.body[:n]); err != nil {
		return nil, fmt.Errorf("parse an answer: %w", err)
	}
	return resp, kerr.ErrorForCode(resp.ErrorCode)
}

// advance moves the offsets of the next request past what came.
func (r *rawReader) advance(resp *kmsg.FetchResponse) (records int64, err error) {
	for _, rt := range resp.Topics {
		for _, rp := range rt.Partitions {
			if err := kerr.ErrorForCode(rp.ErrorCode); err != nil {
				return 0, fmt.Errorf("%s-%d: %w", rt.Topic, rp.Partition, err)
			}
			part := r.partition(rt.Topic, rp.Partition)
			if part == nil {
				return 0, fmt.Errorf("%s-%d was not asked for", rt.Topic, rp.Partition)
			}
			n, next := countRecords(rp.RecordBatches, part.FetchOffset)
			part.FetchOffset = next
			records += n
		}
	}
	return records, nil
}

func (r *rawReader) partition(topic string, p int32) *kmsg.FetchRequestTopicPartition {
	for i := range r.req.Topics {
		t := &r.req.Topics[i]
		for j := range t.Partitions {
			if t.Topic == topic && t.Partitions[j].Partition == p {
				return &t.Partitions[j]
			}
		}
	}
	return nil
}

// countRecords is how many records from offset on whole batches have, and the offset
// that follows them. A batch that is cut off at the end counts nothing.
func countRecords(batches []byte, offset int64) (records, next int64) {
	be := binary.BigEndian
	next = offset
	for len(batches) >= batchHeader {
		size := int(be.Uint32(batches[8:])) + batchOverhead
		if size < batchHeader || size > len(batches) {
			break
		}
		end := int64(be.Uint64(batches)) + int64(be.Uint32(batches[23:])) + 1
		if end > next {
			records += end - max(int64(be.Uint64(batches)), next)
			next = end
		}
		batches = batches[size:]
	}
	return records, next
}
