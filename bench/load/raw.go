package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/bench/internal/histogram"
	"millrace/bench/internal/measure"
	"millrace/bench/internal/payload"
)

// rawVersion of Produce is the newest whose encoding has no tagged fields and that every
// broker here serves; the answer is as small as in later ones.
const rawVersion = 7

// rawLoad is a produce phase on plain sockets. A client library spends most of its time
// on partitions when there are thousands of them, and would be what is measured; this
// one sends batches that were encoded before the clock started, so that it costs the same
// whatever the number of topics. Every request carries requestBytes of values: to one
// topic as one batch, to several as one batch each, of batchRecords records at least,
// to as many topics as that takes; the next request goes to the topics that follow.
type rawLoad struct {
	o       *options
	topics  []string
	batches [][]byte // variants, so that not every batch has the same values
	records int64    // in a batch
	spread  int      // topics in a request
	size    int64    // records in a request
	ph      *measure.Stretch
	publish *histogram.Histogram
	plan    *rawPlan
}

// rawVariants is how many different batches there are.
const rawVariants = 16

func (o *options) newRawLoad() (*rawLoad, error) {
	values, err := payload.Values(o.payload, o.size)
	if err != nil {
		return nil, err
	}
	l := &rawLoad{o: o, topics: o.topicNames(), publish: new(histogram.Histogram)}
	total := o.requestBytes / o.size
	l.spread = min(o.topics, max(total/o.batchRecords, 1))
	// A record in a batch has up to 14 bytes besides its value, a batch its header.
	n := max(min(total/l.spread, (o.batchBytes-batchHeader)/(o.size+14)), 1)
	l.records, l.size = int64(n), int64(n*l.spread)
	l.plan = newRawPlan((o.records+l.size-1)/l.size, l.spread, o.topics)
	now := time.Now()
	for v := range rawVariants {
		l.batches = append(l.batches, encodeBatch(values, v*n, n, now))
	}
	return l, nil
}

// produceRaw is produce without a client library.
func (o *options) produceRaw(ctx context.Context, w io.Writer) error {
	l, err := o.newRawLoad()
	if err != nil {
		return err
	}
	conns := make([]net.Conn, o.producers)
	for i := range conns {
		if conns[i], err = new(net.Dialer).DialContext(ctx, "tcp", o.seeds[0]); err != nil {
			return fmt.Errorf("connect to %s: %w", o.seeds[0], err)
		}
		defer conns[i].Close()
	}
	sending, ctx, cancel := o.phaseTime(ctx)
	defer cancel()
	if l.ph, err = o.begin(); err != nil {
		return err
	}
	defer context.AfterFunc(sending, l.plan.stop)()
	var done sync.WaitGroup
	for _, c := range conns {
		end := context.AfterFunc(ctx, func() { c.Close() })
		defer end()
		done.Go(func() {
			if err := l.drive(sending, c); err != nil {
				l.ph.Fail(err)
			}
		})
	}
	done.Wait()
	l.ph.Retries = l.plan.refused
	return o.end(w, l.ph, "produce", l.publish, nil)
}

// drive sends requests on one connection and returns when all are answered.
func (l *rawLoad) drive(sending context.Context, c net.Conn) error {
	sent := make(chan rawRequest, l.o.inflight-1) // and one that the reader has taken out
	answers := make(chan error, 1)
	go func() {
		err := l.readAnswers(c, sent)
		if err != nil {
			_ = c.Close()    // which ends the sending, too
			l.plan.stop()    // what was on its way here is lost
			for range sent { // the sender must not wait for an answer that never comes
			}
		}
		answers <- err
	}()
	err := l.sendAll(sending, c, sent)
	close(sent)
	if answer := <-answers; answer != nil {
		return answer // the cause, where sending failed too
	}
	return err
}

func (l *rawLoad) sendAll(sending context.Context, c net.Conn, sent chan<- rawRequest) error {
	var head []byte
	for id := uint32(0); ; id++ {
		r, ok := l.plan.take(sending)
		if !ok {
			return nil
		}
		sent <- r
		var frame net.Buffers
		frame, head = l.encode(head, id, r)
		if _, err := frame.WriteTo(c); err != nil {
			l.plan.stop()
			return fmt.Errorf("send: %w", err)
		}
	}
}

// encode lays out a request. Its own bytes are appended to head, whose memory may be
// used again once the frame is sent; the batches are shared.
func (l *rawLoad) encode(head []byte, id uint32, r rawRequest) (frame net.Buffers, reuse []byte) {
	be := binary.BigEndian
	batch := l.batches[r.batch]
	// head must not move while frame points into it.
	need := 64 + l.spread*(32+len(l.topics[len(l.topics)-1]))
	if cap(head) < need {
		head = make([]byte, 0, need)
	}
	b := be.AppendUint32(head[:0], 0) // length
	b = be.AppendUint16(b, 0)         // Produce
	b = be.AppendUint16(b, rawVersion)
	b = be.AppendUint32(b, id) // correlation id
	b = be.AppendUint16(b, 4)
	b = append(b, "load"...)
	b = be.AppendUint16(b, 0xffff) // no transactional id
	b = be.AppendUint16(b, uint16(l.requiredAcks()))
	b = be.AppendUint32(b, uint32(time.Minute.Milliseconds()))
	b = be.AppendUint32(b, uint32(len(r.topics)))
	from := 0
	for _, t := range r.topics {
		name := l.topics[t]
		b = be.AppendUint16(b, uint16(len(name)))
		b = append(b, name...)
		b = be.AppendUint32(b, 1) // partitions
		b = be.AppendUint32(b, 0) // the partition
		b = be.AppendUint32(b, uint32(len(batch)))
		frame = append(frame, b[from:], batch)
		from = len(b)
	}
	be.PutUint32(b, uint32(len(b)+len(r.topics)*len(batch)-4))
	return frame, b
}

func (l *rawLoad) requiredAcks() int16 {
	if l.o.acks == "1" {
		return 1
	}
	return -1
}

// readAnswers takes the answers of one connection, which come in the order of requests,
// until sent is closed and each is answered.
func (l *rawLoad) readAnswers(c net.Conn, sent <-chan rawRequest) error {
	in := bufio.NewReaderSize(c, 64<<10)
	var body []byte
	for r := range sent {
		var length [4]byte
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		n := int(binary.BigEndian.Uint32(length[:]))
		if n < 4 || n > l.o.requestBytes+1<<20 {
			return fmt.Errorf("answer of %d bytes", n)
		}
		if cap(body) < n {
			body = make([]byte, n)
		}
		body = body[:n]
		if _, err := io.ReadFull(in, body); err != nil {
			return fmt.Errorf("read an answer: %w", err)
		}
		refused, err := l.count(body[4:], r)
		if err != nil {
			return err
		}
		if len(refused) == 0 {
			l.publish.Add(time.Since(r.first))
		}
		l.plan.answered(r, refused)
	}
	return nil
}

// count adds what an answer acknowledges, and returns the topics that are to be sent to
// again, as every client does when the error says that it passes.
func (l *rawLoad) count(body []byte, r rawRequest) (refused []int, err error) {
	resp := kmsg.NewPtrProduceResponse()
	resp.SetVersion(rawVersion)
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("parse an answer: %w", err)
	}
	codes := make(map[string]int16, len(resp.Topics))
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[t.Topic] = p.ErrorCode
		}
	}
	for _, t := range r.topics {
		code, ok := codes[l.topics[t]]
		if !ok {
			return nil, fmt.Errorf("an answer leaves topic %s out", l.topics[t])
		}
		switch err := kerr.ErrorForCode(code); {
		case err == nil:
			l.ph.Done.Add(l.records)
		case kerr.IsRetriable(err):
			refused = append(refused, t)
		default:
			l.ph.Fail(fmt.Errorf("%s-0: %w", l.topics[t], err))
		}
	}
	return refused, nil
}
