// Package payload makes the values that load clients send.
package payload

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// distinctValues is how many different values a run cycles through: enough that a codec
// finds no repetition inside its window, few enough to stay in the processor's cache.
const distinctValues = 512

// StampBytes is the room at the start of a value for the send time and to spare.
const StampBytes = 16

var words = strings.Fields("order status created shipped customer amount currency warehouse region sku quantity price discount total note paid")

// Values returns the values of one run, the same for every run with the same options.
func Values(kind string, size int) ([][]byte, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	out := make([][]byte, distinctValues)
	for i := range out {
		b := make([]byte, 0, size+64)
		switch kind {
		case "zero":
			b = b[:size]
		case "random":
			for len(b) < size {
				b = binary.BigEndian.AppendUint64(b, rng.Uint64())
			}
		case "text":
			for len(b) < size {
				b = fmt.Appendf(b, "%q:%d,%q:\"%x\",", words[rng.IntN(len(words))], rng.IntN(100000), words[rng.IntN(len(words))], rng.Uint32())
			}
		default:
			return nil, fmt.Errorf("payload %q is not known", kind)
		}
		out[i] = b[:size]
	}
	return out, nil
}

// Stamped is a copy of a value that begins with the time it was sent (or was due).
func Stamped(value []byte, sent time.Time) []byte {
	v := append(make([]byte, 0, len(value)), value...)
	binary.BigEndian.PutUint64(v, uint64(sent.UnixNano()))
	return v
}

// SentAt reads the stamp of a value back.
func SentAt(value []byte) time.Time {
	return time.Unix(0, int64(binary.BigEndian.Uint64(value)))
}
