package batch

import "fmt"

// minRecordSize is the least a record takes: one byte each for length, attributes,
// timestamp delta, offset delta, key length, value length and header count.
const minRecordSize = 7

// knownAttributes are the bits a producer may set.
const knownAttributes = codecMask | attrLogAppendTime | attrTransactional

// Limits bounds what Validate accepts.
type Limits struct {
	// MaxBytes is max.message.bytes: the size of the batch as it came. 0: no limit.
	MaxBytes int
}

// Validate decides whether b, the record set a producer sent for one partition,
// is exactly one well-formed batch. It looks at the header and the CRC, so it
// costs one pass over the bytes; it does not decompress or allocate, unless it
// returns an error. What the records say is for ValidateRecords.
//
// The order of the checks is Kafka's, so that a batch which is wrong in two ways
// gets the same answer.
func Validate(b []byte, lim Limits) error {
	if err := validateFrame(b); err != nil {
		return err
	}
	h := Batch(b)
	if o := h.BaseOffset(); o != 0 {
		return fmt.Errorf("%w: base offset is %d, must be 0", ErrInvalidRecord, o)
	}
	if lim.MaxBytes > 0 && len(b) > lim.MaxBytes {
		return fmt.Errorf("%w: %d bytes, limit is %d", ErrTooLarge, len(b), lim.MaxBytes)
	}
	if want, got := h.CRC(), h.ComputeCRC(); want != got {
		return fmt.Errorf("%w: CRC is %#08x, %#08x computed", ErrCorrupt, want, got)
	}
	if n := len(b) - h.Size(); n > 0 {
		return fmt.Errorf("%w: %d bytes after the batch", ErrInvalidRecord, n)
	}
	if err := h.validateCounts(); err != nil {
		return err
	}
	if err := h.validateAttributes(); err != nil {
		return err
	}
	if !plausible(h.Codec(), h.Records()) {
		return fmt.Errorf("%w: records are not %s", ErrInvalidRecord, h.Codec())
	}
	return nil
}

// validateFrame checks that b starts with a v2 batch by magic and length, and that
// no second one follows: fewer bytes than a batch needs may be left. A batch that is
// cut short is ErrNotOneBatch, because Kafka sees no batch there; a length that
// cannot be is ErrCorrupt.
func validateFrame(b []byte) error {
	if len(b) < HeaderSize {
		if len(b) == 0 {
			return fmt.Errorf("%w: no bytes", ErrNotOneBatch)
		}
		if len(b) > posMagic && (b[posMagic] == 0 || b[posMagic] == 1) {
			return fmt.Errorf("%w %d", ErrUnsupportedMagic, b[posMagic])
		}
		return fmt.Errorf("%w: %d bytes hold none", ErrNotOneBatch, len(b))
	}
	h := Batch(b)
	switch m := h.Magic(); m {
	case 2:
	case 0, 1:
		return fmt.Errorf("%w %d", ErrUnsupportedMagic, m)
	default:
		return fmt.Errorf("%w: magic %d", ErrCorrupt, m)
	}
	switch n := h.Length(); {
	case n < minLength:
		return fmt.Errorf("%w: length %d", ErrCorrupt, n)
	case h.Size() > len(b):
		return fmt.Errorf("%w: batch of %d bytes in %d", ErrNotOneBatch, h.Size(), len(b))
	}
	if _, _, err := Next(b[h.Size():]); err == nil {
		return fmt.Errorf("%w: a second one after %d bytes", ErrNotOneBatch, h.Size())
	}
	return nil
}

func (b Batch) validateCounts() error {
	count := b.Count()
	switch {
	case count < 1:
		return fmt.Errorf("%w: record count %d", ErrInvalidRecord, count)
	case b.LastOffsetDelta() != count-1:
		return fmt.Errorf("%w: last offset delta %d with %d records", ErrInvalidRecord, b.LastOffsetDelta(), count)
	case int64(count)*minRecordSize > mostBytes(b.Codec(), int64(b.Size()-HeaderSize)):
		return fmt.Errorf("%w: %d records in %d bytes", ErrInvalidRecord, count, b.Size()-HeaderSize)
	}
	return nil
}

// mostBytes is what n bytes can possibly be once they are decompressed. A count beyond
// it would use up offsets that nobody has, and roll a segment for each batch.
func mostBytes(c Codec, n int64) int64 {
	switch c {
	case Gzip:
		return n * 1032
	case Snappy:
		return n * maxSnappyRatio
	case LZ4:
		return n * 255
	case Zstd:
		return (n/4 + 1) * zstdBlock
	}
	return n
}

func (b Batch) validateAttributes() error {
	attrs := b.Attributes()
	switch {
	case attrs&attrControl != 0:
		return fmt.Errorf("%w: control batch from a client", ErrInvalidRecord)
	case b.Codec() > Zstd:
		return fmt.Errorf("%w: %d", ErrUnsupportedCodec, b.Codec())
	case attrs&^knownAttributes != 0:
		return fmt.Errorf("%w: attributes %#04x", ErrInvalidRecord, uint16(attrs))
	case b.HasProducer() && (b.ProducerEpoch() < 0 || b.BaseSequence() < 0):
		return fmt.Errorf("%w: producer %d with epoch %d, sequence %d",
			ErrInvalidRecord, b.ProducerID(), b.ProducerEpoch(), b.BaseSequence())
	case attrs&attrTransactional != 0 && !b.HasProducer():
		return fmt.Errorf("%w: transactional batch without producer id", ErrInvalidRecord)
	}
	return nil
}
