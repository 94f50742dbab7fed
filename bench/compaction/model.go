package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// model says what each record is, and has the newest of each key.
type model struct {
	keys    uint64
	padding []byte  // of a value
	newest  []int64 // by key: the number of its newest record, -1 if it has none
	// settled is the same among the records below bound, which must be compacted: those behind may be in the active
	// segment.
	settled []int64
	bound   int64
}

// recordOverhead is about what a record takes beside its value: framing, key, and its share of a batch's header.
const recordOverhead = 24

func newModel(o *options) *model {
	size := int(o.gb*1e9/float64(o.records)) - recordOverhead
	m := &model{keys: uint64(o.keys), padding: bytes.Repeat([]byte{'x'}, max(size-8, 0)), newest: make([]int64, o.keys), settled: make([]int64, o.keys)}
	for i := range m.newest {
		m.newest[i], m.settled[i] = -1, -1
	}
	m.bound = o.records - int64(float64(o.segmentBytes)/(o.gb*1e9/float64(o.records))*1.2)
	return m
}

// mix is the finalizer of splitmix64: numbers that look like chance and are the same each time.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (m *model) key(i int64) uint64 { return mix(uint64(i)) % m.keys }

// value appends what record i holds, nil for one in twenty: a tombstone.
func (m *model) value(dst []byte, i int64) []byte {
	if mix(uint64(i)^1<<63)%20 == 0 {
		return nil
	}
	return append(binary.BigEndian.AppendUint64(dst, uint64(i)), m.padding...)
}

// fill creates the topic and produces all records, in order.
func (m *model) fill(ctx context.Context, c *kgo.Client, o *options) error {
	text := func(s string) *string { return &s }
	_, err := kadm.NewClient(c).CreateTopic(ctx, 1, 1, map[string]*string{
		"cleanup.policy": text("compact"), "segment.bytes": text(strconv.FormatInt(o.segmentBytes, 10)), "min.cleanable.dirty.ratio": text("0"),
		"file.delete.delay.ms": text("0"),
	}, topic)
	if err != nil {
		return err
	}
	if _, err := kadm.NewClient(c).CreateTopic(ctx, 1, 1, nil, other); err != nil {
		return err
	}
	var failed atomic.Pointer[error]
	for i := range o.records {
		k := m.key(i)
		m.newest[k] = i
		if i < m.bound {
			m.settled[k] = i
		}
		c.Produce(ctx, &kgo.Record{Key: strconv.AppendUint(nil, k, 10), Value: m.value(nil, i)}, func(r *kgo.Record, err error) {
			if err == nil && r.Offset != i {
				err = fmt.Errorf("record %d is at offset %d", i, r.Offset)
			}
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
		})
		if err := failed.Load(); err != nil {
			return *err
		}
	}
	if err := c.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// check reads all that is left. Each record must be what was written at its offset; the newest of each key must be there;
// an older one only if no other of its key is below the bound.
func (m *model) check(ctx context.Context, o *options, w io.Writer) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(o.addr()), kgo.KeepRetryableFetchErrors(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		return err
	}
	defer cl.Close()
	var left, found, older, tombstones int64
	var want []byte
	for at := int64(0); at < o.records; {
		fetches := cl.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("read back at %d: %w", at, errs[0].Err)
		}
		var wrong error
		fetches.EachRecord(func(r *kgo.Record) {
			k := m.key(r.Offset)
			want = m.value(want[:0], r.Offset)
			if r.Offset < at || string(r.Key) != strconv.FormatUint(k, 10) || (r.Value == nil) != (want == nil) || !bytes.Equal(r.Value, want) {
				wrong = errors.Join(wrong, fmt.Errorf("offset %d after %d holds key %s and %d bytes", r.Offset, at, r.Key, len(r.Value)))
			}
			at = r.Offset + 1
			left++
			if r.Value == nil {
				tombstones++
			}
			switch {
			case m.newest[k] == r.Offset:
				found++
			case r.Offset < m.bound && m.settled[k] != r.Offset:
				wrong = errors.Join(wrong, fmt.Errorf("offset %d is not compacted away: key %d is at %d, too", r.Offset, k, m.settled[k]))
			default:
				older++
			}
		})
		if wrong != nil {
			return wrong
		}
	}
	keys := int64(0)
	for _, i := range m.newest {
		if i >= 0 {
			keys++
		}
	}
	fmt.Fprintf(w, "%d records are left, %d of them tombstones; the newest of %d of %d keys; %d that only the active segment makes old\n", left, tombstones, found, keys, older)
	if found != keys {
		return fmt.Errorf("%d keys have lost their newest record", keys-found)
	}
	return nil
}
