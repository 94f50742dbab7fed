package broker_test

import (
	"testing"

	"millrace/broker/brokertest"
	"millrace/segment/batch"

	"github.com/twmb/franz-go/pkg/kerr"
)

// A batch that becomes a thousand times its size is refused where it would have to be decompressed, though the topic's
// default allows 2 GiB.
func TestDecompressionBombsAreRefused(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	c.CreateTopic("t", 1, "cleanup.policy", "compact")
	for codec := batch.Gzip; codec <= batch.Zstd; codec++ {
		if codec == batch.Snappy {
			continue // reaches a factor of 21
		}
		b := batch.NewBuilder()
		b.Codec = codec
		b.Add(1, []byte("key"), make([]byte, 80<<20))
		recs := built(t, b)
		if len(recs) > 1<<20 {
			t.Fatalf("codec %d: %d bytes", codec, len(recs))
		}
		if code := produce(c, "t", recs).ErrorCode; code != kerr.MessageTooLarge.Code {
			t.Errorf("codec %d: error %d, want %d", codec, code, kerr.MessageTooLarge.Code)
		}
	}
}
