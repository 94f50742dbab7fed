package group

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// accepts says whether a member with these protocols can be in the group: the
// same type, and a protocol that all have.
func (g *group) accepts(protocolType string, ps []kmsg.JoinGroupRequestProtocol) bool {
	if protocolType == "" || len(ps) == 0 {
		return false
	}
	if g.state == Empty {
		return true
	}
	if g.protocolType != protocolType {
		return false
	}
	for _, p := range ps {
		if g.allSupport(p.Name) {
			return true
		}
	}
	return false
}

func (g *group) allSupport(name string) bool { return g.supported[name] == len(g.members) }

// selectProtocol is the protocol most members prefer among those all support. Of
// equals it takes the one the member that joined first puts first, so that the
// same members always choose the same.
func (g *group) selectProtocol() string {
	members := g.ordered()
	if len(members) == 0 {
		return ""
	}
	candidate := map[string]int{} // votes
	for _, p := range members[0].protocols {
		if g.allSupport(p.name) {
			candidate[p.name] = 0
		}
	}
	for _, m := range members {
		for _, p := range m.protocols {
			if _, ok := candidate[p.name]; ok {
				candidate[p.name]++
				break
			}
		}
	}
	best, votes := "", -1
	for _, p := range members[0].protocols {
		if n, ok := candidate[p.name]; ok && n > votes {
			best, votes = p.name, n
		}
	}
	return best
}

// learnSubscriptions works out which topics the members consume.
func (g *group) learnSubscriptions() {
	g.subscribed = nil
	if g.protocolType != consumerProtocol {
		return
	}
	topics := map[string]struct{}{}
	for _, m := range g.members {
		if !addSubscription(topics, m.metadata(g.protocol)) {
			return // not what consumers send: nothing is known
		}
	}
	g.subscribed = topics
}

// subscribes says whether members may be consuming the topic.
func (g *group) subscribes(topic string) bool {
	if g.subscribed != nil {
		_, ok := g.subscribed[topic]
		return ok
	}
	return g.protocolType == consumerProtocol && len(g.members) > 0
}

// addSubscription adds the topics of a consumer's metadata: version int16, then an
// array of strings. All versions begin like this. It says whether b was that.
func addSubscription(topics map[string]struct{}, b []byte) bool {
	if len(b) < 6 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[6:]
	for ; n > 0; n-- {
		if len(b) < 2 {
			return false
		}
		size := int(binary.BigEndian.Uint16(b))
		if size > len(b)-2 {
			return false
		}
		topics[string(b[2:2+size])] = struct{}{}
		b = b[2+size:]
	}
	return true
}
