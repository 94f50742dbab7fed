package group

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"time"

	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// protocol is one protocol a member supports, in its order of preference.
type protocol struct {
	name     string
	metadata []byte // immutable
}

// member is one member of a group. Everything belongs to the shard's lock.
type member struct {
	id          string
	instance    *string // group.instance.id of a static member
	clientID    string
	clientHost  string // with a leading slash, as Java prints an address and Kafka stores it
	sessionMs   int32
	rebalanceMs int32
	protocols   []protocol
	assignment  []byte // immutable
	seq         uint64 // order of joining; decides ties

	// isNew until the first JoinGroup is answered: the client does not know its
	// member id and cannot heartbeat, so the session may run out while it waits.
	isNew bool
	// unknownToClient: it joined without an id and has not been told the one it got.
	unknownToClient bool

	join    *parkedJoin // the JoinGroup that waits, nil if none
	sync    *parkedSync // the SyncGroup that waits, nil if none
	session timer
}

// parkedJoin is a JoinGroup that waits for the rebalance.
type parkedJoin struct {
	resp  *kmsg.JoinGroupResponse
	reply func(*kmsg.JoinGroupResponse)
	conn  uint64
}

// parkedSync is a SyncGroup that waits for the leader's assignment.
type parkedSync struct {
	resp  *kmsg.SyncGroupResponse
	reply func(*kmsg.SyncGroupResponse)
	conn  uint64
}

// metadata is m's metadata for the protocol, nil if it does not support it.
func (m *member) metadata(name string) []byte {
	for _, p := range m.protocols {
		if p.name == name {
			return p.metadata
		}
	}
	return nil
}

// matches says whether the protocols of a JoinGroup are those m has already.
func (m *member) matches(ps []kmsg.JoinGroupRequestProtocol) bool {
	return slices.EqualFunc(m.protocols, protocolsOf(ps), func(a, b protocol) bool {
		return a.name == b.name && bytes.Equal(a.metadata, b.metadata)
	})
}

// protocolsOf is the protocols of a JoinGroup, each name once. The metadata are
// views into the request.
func protocolsOf(ps []kmsg.JoinGroupRequestProtocol) []protocol {
	out := make([]protocol, 0, len(ps))
	for _, p := range ps {
		if !slices.ContainsFunc(out, func(q protocol) bool { return q.name == p.Name }) {
			out = append(out, protocol{p.Name, p.Metadata})
		}
	}
	return out
}

// update takes over what a JoinGroup says about m. The metadata is copied: the
// request's bytes belong to its frame.
func (m *member) update(c server.Client, req *kmsg.JoinGroupRequest) {
	m.clientID, m.clientHost = c.ID, "/"+c.Host
	m.sessionMs, m.rebalanceMs = req.SessionTimeoutMillis, rebalanceTimeout(req)
	m.protocols = protocolsOf(req.Protocols)
	for i := range m.protocols {
		m.protocols[i].metadata = bytes.Clone(m.protocols[i].metadata)
	}
}

// rebalanceTimeout is the request's; version 0 has none and means the session's.
func rebalanceTimeout(req *kmsg.JoinGroupRequest) int32 {
	if req.Version == 0 {
		return req.SessionTimeoutMillis
	}
	return max(req.RebalanceTimeoutMillis, 0)
}

func ms(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

// maxIDPrefix bounds what of a client id becomes part of a member id, bytes.
const maxIDPrefix = 256

// newMemberID makes a member id as Kafka does: what tells the member apart for a
// human, then a random UUID.
func newMemberID(clientID string, instance *string) string {
	prefix := clientID
	if instance != nil {
		prefix = *instance
	}
	if len(prefix) > maxIDPrefix {
		prefix = prefix[:maxIDPrefix]
	}
	var u [16]byte
	rand.Read(u[:]) // never fails
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u[:])
	return prefix + "-" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
