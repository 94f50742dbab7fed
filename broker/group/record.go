package group

import (
	"encoding/binary"
	"fmt"

	"millrace/broker/coordinator"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Versions of the keys and values of __consumer_offsets. Keys of versions 0 and 1
// are offset commits, 2 is group metadata, higher ones belong to the newer group
// protocols.
const (
	offsetKeyVersion = 1
	groupKeyVersion  = 2

	groupValueVersion         = 3
	offsetValueVersion        = 3 // without a topic id
	offsetValueTopicIDVersion = 4
	maxOffsetValueVersion     = 4
	maxGroupValueVersion      = 4
)

// offsetRecord is the record of one committed offset.
func offsetRecord(group, topic string, partition int32, o offset) coordinator.Record {
	v := kmsg.NewOffsetCommitValue()
	v.Version = offsetValueVersion
	if o.topicID != ([16]byte{}) {
		v.Version = offsetValueTopicIDVersion
		v.TopicID = o.topicID
	}
	if o.expireMs >= 0 {
		v.Version = 1 // the one version with an expiry of its own
		v.ExpireTimestamp = o.expireMs
	}
	v.Offset = o.offset
	v.LeaderEpoch = o.leaderEpoch
	v.Metadata = o.metadata
	v.CommitTimestamp = o.commitMs
	return coordinator.Record{Key: offsetKey(group, topic, partition), Value: v.AppendTo(nil)}
}

// offsetTombstone is the record that deletes a committed offset.
func offsetTombstone(group, topic string, partition int32) coordinator.Record {
	return coordinator.Record{Key: offsetKey(group, topic, partition)}
}

func offsetKey(group, topic string, partition int32) []byte {
	k := kmsg.NewOffsetCommitKey()
	k.Version, k.Group, k.Topic, k.Partition = offsetKeyVersion, group, topic, partition
	return k.AppendTo(nil)
}

// groupRecord is the record of the group as it is. assignments overrides those of
// the members. A rebalance that is under way has a null leader.
func (g *group) groupRecord(assignments map[string][]byte) coordinator.Record {
	v := kmsg.NewGroupMetadataValue()
	v.Version = groupValueVersion
	v.ProtocolType = g.protocolType
	v.Generation = g.generation
	v.CurrentStateTimestamp = g.stateSinceMs
	if g.protocol != "" {
		v.Protocol = &g.protocol
	}
	if g.leader != "" && g.state != CompletingRebalance || assignments != nil {
		leader := g.leader
		v.Leader = &leader
	}
	for _, m := range g.ordered() {
		x := kmsg.NewGroupMetadataValueMember()
		x.MemberID, x.InstanceID = m.id, m.instance
		x.ClientID, x.ClientHost = m.clientID, m.clientHost
		x.SessionTimeoutMillis, x.RebalanceTimeoutMillis = m.sessionMs, m.rebalanceMs
		x.Subscription = m.metadata(g.protocol)
		x.Assignment = m.assignment
		if assignments != nil {
			x.Assignment = assignments[m.id]
		}
		v.Members = append(v.Members, x)
	}
	return coordinator.Record{Key: groupKey(g.id), Value: v.AppendTo(nil)}
}

// groupTombstone is the record that deletes a group.
func groupTombstone(group string) coordinator.Record {
	return coordinator.Record{Key: groupKey(group)}
}

func groupKey(group string) []byte {
	k := kmsg.NewGroupMetadataKey()
	k.Version, k.Group = groupKeyVersion, group
	return k.AppendTo(nil)
}

// keyVersion is the version a key begins with.
func keyVersion(key []byte) (int16, error) {
	if len(key) < 2 {
		return 0, fmt.Errorf("key of %d bytes", len(key))
	}
	return int16(binary.BigEndian.Uint16(key)), nil
}

// decodeOffsetKey reads a key of version 0 or 1.
func decodeOffsetKey(key []byte) (kmsg.OffsetCommitKey, error) {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(key); err != nil {
		return k, fmt.Errorf("offset commit key: %w", err)
	}
	return k, nil
}

// decodeOffset reads the value of an offset commit, any version.
func decodeOffset(value []byte) (offset, error) {
	v := kmsg.NewOffsetCommitValue()
	v.LeaderEpoch, v.ExpireTimestamp = -1, -1
	ver, err := keyVersion(value)
	if err != nil || ver < 0 || ver > maxOffsetValueVersion {
		return offset{}, fmt.Errorf("offset commit value: version %d", ver)
	}
	if err := v.ReadFrom(value); err != nil {
		return offset{}, fmt.Errorf("offset commit value: %w", err)
	}
	o := offset{offset: v.Offset, leaderEpoch: -1, metadata: v.Metadata,
		commitMs: v.CommitTimestamp, expireMs: -1, topicID: v.TopicID}
	if v.Version >= 3 {
		o.leaderEpoch = v.LeaderEpoch
	}
	if v.Version == 1 {
		o.expireMs = v.ExpireTimestamp
	}
	return o, nil
}

// decodeGroupKey reads a key of version 2.
func decodeGroupKey(key []byte) (string, error) {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(key); err != nil {
		return "", fmt.Errorf("group metadata key: %w", err)
	}
	return k.Group, nil
}

// decodeGroup reads the value of group metadata, any version.
func decodeGroup(value []byte) (*kmsg.GroupMetadataValue, error) {
	ver, err := keyVersion(value)
	if err != nil || ver < 0 || ver > maxGroupValueVersion {
		return nil, fmt.Errorf("group metadata value: version %d", ver)
	}
	v := kmsg.NewGroupMetadataValue()
	if err := v.ReadFrom(value); err != nil {
		return nil, fmt.Errorf("group metadata value: %w", err)
	}
	return &v, nil
}
