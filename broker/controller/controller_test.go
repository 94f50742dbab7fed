package controller_test

import (
	"io"
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/controller"
	"millrace/broker/meta"
	"millrace/broker/meta/metatest"
	"millrace/net/server"
)

// bench is a controller on a metadata log in memory.
type bench struct {
	*controller.Controller
	t     *testing.T
	store *meta.Store
	log   *metatest.Log
}

func open(t *testing.T, props map[string]string) *bench { return openLimited(t, props, 0) }

func openLimited(t *testing.T, props map[string]string, maxPartitions int) *bench {
	t.Helper()
	store, log := metatest.Open(t, props)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	c := controller.New(store, controller.Options{MaxPartitions: maxPartitions, Logger: quiet})
	t.Cleanup(c.Close)
	return &bench{c, t, store, log}
}

// openWithRoom is open on a machine that has room for so many partitions.
func openWithRoom(t *testing.T, partitions int, limit string) *bench {
	t.Helper()
	store, log := metatest.Open(t, nil)
	c := controller.New(store, controller.Options{
		Room:   func(*meta.Image) (int, string) { return partitions, limit },
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	t.Cleanup(c.Close)
	return &bench{c, t, store, log}
}

func (b *bench) image() *meta.Image { return b.store.Image() }

// topic is a topic of a CreateTopics request; cfg is name, value, name, value.
func topic(name string, partitions int32, replication int16, cfg ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replication
	for i := 0; i < len(cfg); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = cfg[i], &cfg[i+1]
		t.Configs = append(t.Configs, c)
	}
	return t
}

// assigned is a topic with the replicas of each partition given, by number.
func assigned(name string, partitions int32, replication int16, replicas ...map[int32][]int32) kmsg.CreateTopicsRequestTopic {
	t := topic(name, partitions, replication)
	for _, r := range replicas {
		for p, ids := range r {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = p, ids
			t.ReplicaAssignment = append(t.ReplicaAssignment, a)
		}
	}
	return t
}

func (b *bench) create(topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	return b.createVersion(7, false, topics...)
}

func (b *bench) createVersion(version int16, validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	b.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.ValidateOnly, req.Topics = version, validateOnly, topics
	resp := b.CreateTopics(server.Client{}, req)
	if resp.Version != version {
		b.t.Errorf("response has version %d, request %d", resp.Version, version)
	}
	roundTrip(b.t, resp, kmsg.NewPtrCreateTopicsResponse())
	return resp.Topics
}

func (b *bench) mustCreate(topics ...kmsg.CreateTopicsRequestTopic) {
	b.t.Helper()
	for _, r := range b.create(topics...) {
		b.check(r.Topic, r.ErrorCode, r.ErrorMessage, 0, "")
	}
}

// check holds a result against what is wanted; message "" means null.
func (b *bench) check(what string, code int16, message *string, wantCode int16, wantMessage string) {
	b.t.Helper()
	got := ""
	if message != nil {
		got = *message
	}
	if code != wantCode || got != wantMessage {
		b.t.Errorf("%s: error %d %q, want %d %q", what, code, got, wantCode, wantMessage)
	}
}

// roundTrip checks that a response can be encoded at its version and read by a client.
func roundTrip(t *testing.T, resp, read kmsg.Response) {
	t.Helper()
	read.SetVersion(resp.GetVersion())
	if err := read.ReadFrom(resp.AppendTo(nil)); err != nil {
		t.Errorf("response does not parse: %v", err)
	}
}

func text(s string) *string { return &s }
