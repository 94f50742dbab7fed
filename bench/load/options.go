package main

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"millrace/bench/internal/payload"
)

// options is one invocation, as the flags gave it.
type options struct {
	seeds       []string
	mode        string
	prefix      string
	topics      int
	partitions  int
	replication int
	topicConfig map[string]*string
	create      bool
	remove      bool

	producers int
	consumers int
	keys      int
	inARow    int

	size        int
	records     int64
	maxTime     time.Duration
	cut         bool
	untilEOF    bool
	acks        string
	compression string
	idempotent  bool
	linger      time.Duration
	batchBytes  int
	buffer      int
	bufferBytes int
	inflight    int
	rate        float64
	payload     string

	raw          bool
	batchRecords int
	requestBytes int

	fetchWait time.Duration
	brokers   []int
	label     string
}

// codecs are the values of --compression.
var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

// parseOptions reads the arguments after the program's name.
func parseOptions(args []string) (*options, error) {
	var o options
	var seeds, config, pids string
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.StringVar(&seeds, "brokers", "127.0.0.1:29092", "comma-separated seed brokers")
	f.StringVar(&o.mode, "mode", "both", "produce | consume | both (one after the other) | e2e (at the same time) | create | delete (topics only) | ping (wait until the broker answers)")
	f.StringVar(&o.prefix, "topic", "load", "topic name; with --topics above 1, its prefix")
	f.IntVar(&o.topics, "topics", 1, "number of topics")
	f.IntVar(&o.partitions, "partitions", 1, "partitions of each topic")
	f.IntVar(&o.replication, "rf", 1, "replication factor")
	f.StringVar(&config, "topic-config", "", "comma-separated key=value settings for created topics")
	f.BoolVar(&o.create, "create", true, "create the topics if they do not exist")
	f.BoolVar(&o.remove, "delete", false, "delete the topics at the end")
	f.IntVar(&o.producers, "producers", 1, "clients that produce at the same time, each with a connection and a buffer of its own")
	f.IntVar(&o.consumers, "consumers", 1, "clients that consume at the same time; each has its share of the partitions")
	f.IntVar(&o.keys, "keys", 0, "records have one of so many keys, which choose the partition; 0 is no keys")
	f.IntVar(&o.inARow, "in-a-row", 1, "how many records in a row go to the same topic")
	f.IntVar(&o.size, "size", 1024, "value size in bytes (at least 16)")
	f.Int64Var(&o.records, "records", 1_000_000, "records to produce or consume in total")
	f.DurationVar(&o.maxTime, "max-time", 2*time.Minute, "stop a phase after this long, finished or not")
	f.BoolVar(&o.cut, "cut", false, "a produce phase that reaches --max-time reports what it did, and that is no error")
	f.BoolVar(&o.untilEOF, "until-eof", false, "a produce phase ends early, without an error, when standard input does")
	f.StringVar(&o.acks, "acks", "all", "0 | 1 | all")
	f.StringVar(&o.compression, "compression", "none", "none | gzip | snappy | lz4 | zstd")
	f.BoolVar(&o.idempotent, "idempotent", true, "idempotent producer (with --acks all only)")
	f.DurationVar(&o.linger, "linger", 0, "producer linger")
	f.IntVar(&o.batchBytes, "batch-bytes", 1_000_012, "largest batch in bytes")
	f.IntVar(&o.buffer, "buffer", 10_000, "records the producer may hold unacknowledged")
	f.IntVar(&o.bufferBytes, "buffer-bytes", 0, "bytes that all producers together may hold unacknowledged; 0 is no limit but --buffer")
	f.IntVar(&o.inflight, "inflight", 5, "produce requests in flight per broker (an idempotent producer always has 5)")
	f.Float64Var(&o.rate, "rate", 0, "records per second over all topics; 0 is as fast as possible")
	f.StringVar(&o.payload, "payload", "text", "text (compresses about 4:1) | random | zero")
	f.BoolVar(&o.raw, "raw", false, "plain sockets: produce ready-made batches, many topics in a request, on --producers connections with --inflight requests each (not idempotent, one partition a topic); consume without decoding")
	f.IntVar(&o.batchRecords, "batch-records", 16, "least records of a --raw batch; fewer topics than fill a request have larger batches")
	f.IntVar(&o.requestBytes, "request-bytes", 1<<20, "bytes of values in a --raw request")
	f.DurationVar(&o.fetchWait, "fetch-wait", 500*time.Millisecond, "consumer's longest fetch wait")
	f.StringVar(&pids, "broker-pid", "", "comma-separated broker process ids to account for")
	f.StringVar(&o.label, "label", "", "copied into the output")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	o.seeds = strings.Split(seeds, ",")
	o.topicConfig = map[string]*string{}
	for kv := range strings.SplitSeq(config, ",") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			o.topicConfig[k] = &v
		}
	}
	for p := range strings.FieldsFuncSeq(pids, func(r rune) bool { return r == ',' }) {
		pid, err := strconv.Atoi(p)
		if err != nil {
			return nil, fmt.Errorf("--broker-pid: %w", err)
		}
		o.brokers = append(o.brokers, pid)
	}
	return &o, o.check()
}

// check refuses values that would only fail later, and settles what depends on another
// option: an idempotent producer needs acks=all.
func (o *options) check() error {
	if o.size < payload.StampBytes {
		return fmt.Errorf("--size must be at least %d", payload.StampBytes)
	}
	if o.topics < 1 || o.partitions < 1 || o.records < 1 {
		return errors.New("--topics, --partitions and --records must be positive")
	}
	if o.producers < 1 || o.consumers < 1 || o.inARow < 1 || o.keys < 0 || o.inflight < 1 {
		return errors.New("--producers, --consumers, --in-a-row and --inflight must be positive, and --keys not negative")
	}
	if o.raw {
		if len(o.seeds) != 1 || o.rate > 0 || o.keys > 0 || o.compression != "none" {
			return errors.New("--raw is for one broker, without --rate, --keys and --compression")
		}
		if o.partitions != 1 && o.mode != "consume" {
			return errors.New("--raw produces to topics of one partition only")
		}
		if o.batchRecords < 1 || o.requestBytes < o.batchRecords*o.size {
			return errors.New("--request-bytes must hold at least one batch of --batch-records")
		}
		o.idempotent = false
	}
	if _, ok := codecs[o.compression]; !ok {
		return fmt.Errorf("--compression %q is not known", o.compression)
	}
	switch o.acks {
	case "all", "-1":
	case "0", "1":
		o.idempotent = false
	default:
		return fmt.Errorf("--acks %q is not known", o.acks)
	}
	return nil
}

// topicNames are the names of the topics of this run.
func (o *options) topicNames() []string {
	if o.topics == 1 {
		return []string{o.prefix}
	}
	out := make([]string, o.topics)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%d", o.prefix, i)
	}
	return out
}

// clientOptions are what every client of this run is made with.
func (o *options) clientOptions() []kgo.Opt {
	return []kgo.Opt{kgo.SeedBrokers(o.seeds...), kgo.MetadataMinAge(250 * time.Millisecond)}
}
