package admin_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/broker/admin"
	"millrace/broker/meta"
	"millrace/broker/meta/metatest"
	"millrace/net/server"
)

// bench is an Admin on a metadata log in memory.
type bench struct {
	*admin.Admin
	t       *testing.T
	store   *meta.Store
	created []string
	dirs    []admin.LogDir
}

func (b *bench) AutoCreate(names []string) { b.created = append(b.created, names...) }
func (b *bench) LogDirs() []admin.LogDir   { return b.dirs }

// open has the topics a (3 partitions), b.b (1), __consumer_offsets (2).
func open(t *testing.T, props map[string]string) *bench {
	t.Helper()
	store, _ := metatest.Open(t, props)
	b := &bench{t: t, store: store}
	b.Admin = admin.New(store, b, b)
	b.commit(createTopic("b.b", 1)...)
	b.commit(createTopic("a", 3)...)
	b.commit(createTopic("__consumer_offsets", 2)...)
	return b
}

func (b *bench) commit(changes ...meta.Change) {
	b.t.Helper()
	if err := b.store.Commit(func(*meta.Image) ([]meta.Change, error) { return changes, nil }); err != nil {
		b.t.Fatal(err)
	}
}

func createTopic(name string, partitions int) []meta.Change {
	id := meta.NewID()
	changes := []meta.Change{&meta.TopicRecord{Name: name, ID: id}}
	for i := range partitions {
		changes = append(changes, &meta.PartitionRecord{Partition: int32(i), TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1})
	}
	return changes
}

func override(of meta.ResourceType, name, key, value string) meta.Change {
	return &meta.ConfigRecord{Resource: meta.Resource{Type: of, Name: name}, Key: key, Value: &value}
}

func (b *bench) id(name string) [16]byte { return b.store.Image().Topic(name).ID }

// onListener is a client of the listener that is advertised as host:port.
func onListener(host string, port int32) server.Client {
	return server.Client{Listener: &server.Listener{Name: "PLAINTEXT", AdvertisedHost: host, AdvertisedPort: port}}
}

var local = onListener("127.0.0.1", 9092)

// check encodes a response as it goes out and reads it as a client does.
func check[R kmsg.Response](t *testing.T, req kmsg.Request, resp R) R {
	t.Helper()
	if resp.GetVersion() != req.GetVersion() {
		t.Errorf("response has version %d, request %d", resp.GetVersion(), req.GetVersion())
	}
	read := req.ResponseKind()
	if err := read.ReadFrom(resp.AppendTo(nil)); err != nil {
		t.Errorf("response does not parse: %v", err)
	}
	return read.(R)
}
