package main

import (
	"math"
	"strconv"
	"time"
)

// work is what a load client does in one phase. Zero values are the client's defaults.
type work struct {
	mode       string // of bench/load
	topics     int
	partitions int
	size       int // bytes of a record's value
	records    int64
	rate       float64 // records per second; 0 is as fast as possible
	producers  int
	consumers  int
	keys       int
	acks       string
	// raw is a producer on plain sockets with ready-made batches.
	raw bool
	// maxTime ends the phase; with cut what was done until then is the result.
	maxTime time.Duration
	cut     bool
	// untilTold ends the phase when the client's standard input does.
	untilTold bool
}

const (
	// bufferBytes is what all producers of a phase together may hold, as much as one
	// Java producer by default times two; it is shared, so that more producers are not
	// more in flight.
	bufferBytes = 64 << 20
	// rawRecords is the least records of a raw batch; with records of 1 KiB that is the
	// batch.size of the Java producer, 16 KiB.
	rawRecords = 16
	// rawBytes is the values in one raw request.
	rawBytes = 1_000_000
)

// loadArgs are the flags for bench/load, and for bench/mqload, which knows some of them.
func (w work) loadArgs(topic string) []string {
	args := []string{"--mode", w.mode, "--topic", topic}
	number := func(flag string, n int) {
		if n > 0 {
			args = append(args, "--"+flag, strconv.Itoa(n))
		}
	}
	number("topics", w.topics)
	number("partitions", w.partitions)
	number("size", w.size)
	number("producers", w.producers)
	number("consumers", w.consumers)
	number("keys", w.keys)
	if w.records > 0 {
		args = append(args, "--records", strconv.FormatInt(w.records, 10))
	}
	if w.rate > 0 {
		args = append(args, "--rate", strconv.FormatFloat(w.rate, 'f', -1, 64))
	}
	if w.acks != "" {
		args = append(args, "--acks", w.acks)
	}
	if w.producers > 1 {
		number("buffer-bytes", bufferBytes)
	}
	if w.raw {
		args = append(args, "--raw")
		number("batch-records", rawRecords)
		number("request-bytes", rawBytes)
	}
	if w.maxTime > 0 {
		args = append(args, "--max-time", w.maxTime.String())
	}
	if w.cut {
		args = append(args, "--cut")
	}
	if w.untilTold {
		args = append(args, "--until-eof")
	}
	return args
}

// rocketArgs are the arguments for RocketLoad: threads that each wait for the answer to
// a batch, of as many records as a raw producer's to the same number of topics.
func (w work) rocketArgs(topic string) []string {
	total := rawBytes / w.size
	batch := max(total/min(max(w.topics, 1), max(total/rawRecords, 1)), 1)
	return []string{
		"mode=produce", "topic=" + topic, "topics=" + strconv.Itoa(max(w.topics, 1)), "size=" + strconv.Itoa(w.size),
		"records=" + strconv.FormatInt(w.records, 10), "threads=" + strconv.Itoa(rocketThreads), "batch=" + strconv.Itoa(batch),
		"maxtime=" + strconv.Itoa(int(math.Ceil(w.maxTime.Seconds()))),
	}
}

// rocketThreads is as many requests in flight as four raw producers have.
const rocketThreads = 20
