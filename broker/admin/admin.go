package admin

import (
	"sync/atomic"

	"millrace/broker/meta"
	"millrace/net/server"
)

// Images gives the current state of the cluster.
type Images interface{ Image() *meta.Image }

// TopicCreator creates topics on demand, without waiting.
type TopicCreator interface{ AutoCreate(names []string) }

// Admin serves the requests that read the cluster's state.
type Admin struct {
	images  Images
	creator TopicCreator
	dirs    LogDirs

	// all is the topics of the last Metadata answer that had every topic.
	all atomic.Pointer[allTopics]
}

// New makes an Admin.
func New(images Images, creator TopicCreator, dirs LogDirs) *Admin {
	return &Admin{images: images, creator: creator, dirs: dirs}
}

// Bit fields of the operations a client may do, as Kafka answers them without an
// authorizer, and the value that says they were not asked for.
const (
	operationsNotAsked int32 = -2147483648
	topicOperations    int32 = 3576 // read, write, create, delete, alter, describe, describe and alter configs
	clusterOperations  int32 = 8096 // create, alter, describe, cluster action, describe and alter configs, idempotent write
)

func operations(asked bool, all int32) int32 {
	if asked {
		return all
	}
	return operationsNotAsked
}

// broker is a broker as the client that asks sees it: where it is reached on the
// listener the request came in on.
type broker struct {
	id   int32
	host string
	port int32
	rack *string
}

// brokers is all brokers that have that listener.
func brokers(im *meta.Image, l *server.Listener) []broker {
	var out []broker
	for _, n := range im.Brokers {
		b := broker{id: n.ID}
		if n.Rack != "" {
			b.rack = &n.Rack
		}
		switch {
		case n.ID == im.NodeID && l != nil:
			// What is bound, not what is registered: the port may have been chosen at bind time.
			b.host, b.port = l.AdvertisedHost, l.AdvertisedPort
		default:
			name := ""
			if l != nil {
				name = l.Name
			}
			host, port, ok := im.EndPoint(n.ID, name)
			if !ok {
				continue
			}
			b.host, b.port = host, port
		}
		out = append(out, b)
	}
	return out
}

// offline is those of the replicas whose broker is not there.
func offline(im *meta.Image, replicas []int32) []int32 {
	var out []int32
	for _, id := range replicas {
		if !im.HasBroker(id) {
			out = append(out, id)
		}
	}
	return out
}

// text is s as an optional field.
func text(s string) *string { return &s }
