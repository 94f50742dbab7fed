package broker_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"
	"time"

	"millrace/broker/brokertest"

	"github.com/twmb/franz-go/pkg/kerr"
)

func setTopicID(t *testing.T, n *brokertest.Node, partition, id string) {
	t.Helper()
	path := filepath.Join(n.Dir, partition, "partition.metadata")
	if err := os.WriteFile(path, []byte("version: 0\ntopic_id: "+id), 0o644); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Second) // more than what the times of files are told apart by
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
}

func idText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func TestADirectoryWithADamagedOrAnothersTopicIdIsRefusedAndKept(t *testing.T) {
	n := brokertest.Start(t, nil)
	c := n.Dial(t)
	id, other := c.CreateTopic("t", 1), c.CreateTopic("other", 1)
	produce(c, "t", records(t, 3, nil))
	damaged := idText(id)[:21] + "\x01"
	for _, wrong := range []string{damaged, "", idText(other)} {
		setTopicID(t, n, "t-0", wrong)
		for range 2 { // nothing has replaced it the second time
			n.Restart(t)
			if p := listOffsets(n.Dial(t), 7, "t", -1); p.ErrorCode != kerr.KafkaStorageError.Code {
				t.Errorf("topic id %q: error %d, offset %d", wrong, p.ErrorCode, p.Offset)
			}
		}
	}
	setTopicID(t, n, "t-0", idText(id))
	n.Restart(t)
	if p := listOffsets(n.Dial(t), 7, "t", -1); p.ErrorCode != 0 || p.Offset != 3 {
		t.Errorf("repaired: error %d, offset %d", p.ErrorCode, p.Offset)
	}
}

func TestADirectoryOfADeletedTopicMakesRoomForItsSuccessor(t *testing.T) {
	n := brokertest.Start(t, nil)
	c := n.Dial(t)
	c.CreateTopic("t", 1)
	produce(c, "t", records(t, 3, nil))
	setTopicID(t, n, "t-0", idText([16]byte{1, 2, 3})) // as if a kill had kept it from being renamed
	n.Restart(t)
	c = n.Dial(t)
	if p := listOffsets(c, 7, "t", -1); p.ErrorCode != 0 || p.Offset != 0 {
		t.Errorf("error %d, offset %d", p.ErrorCode, p.Offset)
	}
	if p := produce(c, "t", records(t, 1, nil)); p.ErrorCode != 0 || p.BaseOffset != 0 {
		t.Errorf("produced with error %d at %d", p.ErrorCode, p.BaseOffset)
	}
	if aside, err := filepath.Glob(filepath.Join(n.Dir, "t-0.orphan-*", "*.log")); err != nil || len(aside) == 0 {
		t.Errorf("data of the old topic: %q, %v", aside, err)
	}
}
