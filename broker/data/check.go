package data

import (
	"errors"
	"fmt"

	"millrace/broker/config"
	"millrace/net/wire"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
)

// zstdSince is the first version of Produce that may carry zstd (KIP-110).
const zstdSince = 7

// check decides whether the records of one partition may be appended, and gives
// the batch to append: the records as they came, but for what the topic's
// configuration changes (timestamps, codec).
func (op *produceOp) check(cfg *config.Topic, in *wire.ProducePartition, res *produceResult) (batch.Batch, error) {
	if in.Null {
		return nil, fmt.Errorf("%w: no records", batch.ErrInvalidRecord)
	}
	if op.req.TransactionalID == nil {
		if first, _, err := batch.Next(in.Records); err == nil && first.IsTransactional() {
			return nil, kerr.TransactionalIDAuthorizationFailed
		}
	}
	err := batch.Validate(in.Records, batch.Limits{MaxBytes: int(cfg.MaxMessageBytes)})
	if err != nil && !errors.Is(err, batch.ErrUnsupportedCodec) {
		return nil, err
	}
	b := batch.Batch(in.Records)
	if b.Codec() >= batch.Zstd && op.r.Header.APIVersion < zstdSince {
		return nil, kerr.UnsupportedCompressionType
	}
	if err != nil {
		return nil, err
	}
	if b.IsTransactional() || op.req.TransactionalID != nil {
		res.message = "transactions are not served by this version of Millrace"
		return nil, kerr.InvalidTxnState
	}
	nowMs := op.s.now().UnixMilli()
	errs, err := batch.ValidateRecords(b, deepOptions(cfg, b, nowMs))
	if err != nil {
		res.records = errs
		return nil, err
	}
	if to := targetCodec(cfg, b.Codec()); to != b.Codec() {
		b, err = batch.Recompress(nil, b, to, levelOf(cfg, to), maxDecompressed(cfg, len(b)))
		if err != nil {
			return nil, err
		}
		if len(b) > int(cfg.MaxMessageBytes) {
			return nil, fmt.Errorf("%w: %d bytes as %s, limit is %d", batch.ErrTooLarge, len(b), cfg.CompressionType, cfg.MaxMessageBytes)
		}
	}
	if cfg.LogAppendTime {
		b.SetLogAppendTime(nowMs)
	} else if b.IsLogAppendTime() { // no client's claim to make
		b.ClearLogAppendTime()
	}
	return b, nil
}

// Bounds of what one batch may become in memory, whatever the topic allows: its
// default is 2 GiB, and Kafka, which never holds a batch whole, can afford that.
const (
	anyDecompressed  = 64 << 20
	mostDecompressed = 512 << 20
	mostRatio        = 100 // beyond anyDecompressed
)

// maxDecompressed is the limit for a batch of size bytes.
func maxDecompressed(cfg *config.Topic, size int) int {
	return min(int(cfg.MaxDecompressedBytes), max(anyDecompressed, mostRatio*size), mostDecompressed)
}

func deepOptions(cfg *config.Topic, b batch.Batch, nowMs int64) batch.DeepOptions {
	return batch.DeepOptions{
		NowMs:                nowMs,
		BeforeMaxMs:          cfg.TimestampBeforeMaxMs,
		AfterMaxMs:           cfg.TimestampAfterMaxMs,
		LogAppendTime:        cfg.LogAppendTime,
		Compacted:            cfg.Compact,
		MaxDecompressedBytes: maxDecompressed(cfg, len(b)),
	}
}

// needsWorker says whether a batch has to be decompressed or compressed before it
// can be appended. It looks at the header only.
func needsWorker(cfg *config.Topic, b batch.Batch, nowMs int64) bool {
	return targetCodec(cfg, b.Codec()) != b.Codec() || batch.NeedsDecompression(b, deepOptions(cfg, b, nowMs))
}

// targetCodec is the codec a topic stores a batch in that came in codec c.
func targetCodec(cfg *config.Topic, c batch.Codec) batch.Codec {
	switch cfg.CompressionType {
	case "uncompressed":
		return batch.None
	case "gzip":
		return batch.Gzip
	case "snappy":
		return batch.Snappy
	case "lz4":
		return batch.LZ4
	case "zstd":
		return batch.Zstd
	}
	return c
}

func levelOf(cfg *config.Topic, c batch.Codec) int {
	switch c {
	case batch.Gzip:
		return cfg.GzipLevel
	case batch.LZ4:
		return cfg.LZ4Level
	case batch.Zstd:
		return cfg.ZstdLevel
	}
	return 0
}
