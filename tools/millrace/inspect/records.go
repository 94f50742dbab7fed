package inspect

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	"millrace/broker/meta"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// decoderOf prints the records of an internal topic; nil for other topics.
func decoderOf(topic string) func(key, value []byte) string {
	switch topic {
	case "__consumer_offsets":
		return offsetsRecord
	case "__cluster_metadata":
		return metadataRecord
	}
	return nil
}

// offsetsRecord is a record of the group coordinator: a committed offset, or a classic group's state.
func offsetsRecord(key, value []byte) string {
	raw := fmt.Sprintf("key: %s payload: %s", text(key), text(value))
	if len(key) < 2 {
		return raw
	}
	var k, v interface{ ReadFrom([]byte) error }
	switch version := binary.BigEndian.Uint16(key); version {
	case 0, 1:
		k, v = &kmsg.OffsetCommitKey{}, &kmsg.OffsetCommitValue{}
	case 2:
		k, v = &kmsg.GroupMetadataKey{}, &kmsg.GroupMetadataValue{}
	default:
		return raw
	}
	if k.ReadFrom(key) != nil {
		return raw
	}
	if value == nil {
		return fmt.Sprintf("key: %s payload: null", asJSON(k))
	}
	if v.ReadFrom(value) != nil {
		return fmt.Sprintf("key: %s payload: %s", asJSON(k), text(value))
	}
	return fmt.Sprintf("key: %s payload: %s", asJSON(k), asJSON(v))
}

// metadataRecord is a record of the metadata log.
func metadataRecord(_, value []byte) string {
	c, err := meta.DecodeRecord(value)
	if err != nil {
		return fmt.Sprintf("payload: %s (%v)", text(value), err)
	}
	return fmt.Sprintf("payload: %s %s", strings.TrimPrefix(fmt.Sprintf("%T", c), "*meta."), strings.TrimPrefix(fmt.Sprintf("%+v", c), "&"))
}

// controlRecord is the marker of a transaction's end, or a record of a Kafka quorum.
func controlRecord(key, value []byte) string {
	if len(key) < 4 {
		return "control: key " + text(key)
	}
	names := []string{"ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS"}
	kind := int16(binary.BigEndian.Uint16(key[2:]))
	name := fmt.Sprintf("type %d", kind)
	if kind >= 0 && int(kind) < len(names) {
		name = names[kind]
	}
	if kind <= 1 && len(value) >= 6 {
		return fmt.Sprintf("endTxnMarker: %s coordinatorEpoch: %d", name, int32(binary.BigEndian.Uint32(value[2:])))
	}
	return "control: " + name
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}
