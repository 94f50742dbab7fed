// Package brokertest runs brokers in the test's own process, on loopback ports that
// the system chooses, and speaks to them in raw frames, so that a test sees every
// field of an answer, and every frame that is not one.
package brokertest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"strings"
	"testing"
	"time"

	"millrace/broker"
	"millrace/broker/config"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Node is a broker under test.
type Node struct {
	*broker.Broker
	Addr string // HOST:PORT of the first listener
	Dir  string // its log dir, or the first of them
	Dirs []string

	// Options are changed by tests before Restart.
	Options broker.Options

	props map[string]string
}

// Start runs a broker in a temporary log dir, with props over defaults that suit
// tests. It is shut down with the test.
func Start(t testing.TB, props map[string]string) *Node {
	t.Helper()
	n := New(t, []string{t.TempDir()}, props)
	n.start(t)
	return n
}

// New prepares a broker on the given log dirs without starting it: Restart does. It is shut down with the test.
func New(t testing.TB, dirs []string, props map[string]string) *Node {
	t.Helper()
	n := &Node{Dir: dirs[0], Dirs: dirs, props: map[string]string{
		"node.id":                          "1",
		"listeners":                        "PLAINTEXT://127.0.0.1:0",
		"http.listen":                      "",
		"log.slab.bytes":                   "33554432",
		"offsets.topic.num.partitions":     "4",
		"group.initial.rebalance.delay.ms": "0",
	}}
	n.props["log.dirs"] = strings.Join(dirs, ",")
	maps.Copy(n.props, props)
	t.Cleanup(func() { n.Stop(t) })
	return n
}

// Set changes a static property from the next start on.
func (n *Node) Set(key, value string) { n.props[key] = value }

// TryStart starts the broker where starting may fail.
func (n *Node) TryStart(t testing.TB) error {
	t.Helper()
	cfg, _, err := config.Load(n.props)
	if err != nil {
		t.Fatalf("configuration: %v", err)
	}
	o := n.Options
	o.Config, o.Properties, o.Version = cfg, n.props, "test"
	o.Logger = slog.New(slog.NewTextHandler(logged{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
	b, err := broker.Start(t.Context(), o)
	if err != nil {
		return err
	}
	n.Broker = b
	_, n.Addr, _ = strings.Cut(n.Report().Listeners[0], "://")
	return nil
}

func (n *Node) start(t testing.TB) {
	t.Helper()
	if err := n.TryStart(t); err != nil {
		t.Fatalf("start: %v", err)
	}
}

// Stop shuts the broker down; a second call does nothing.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	if n.Broker == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := n.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("shutdown: %v", err)
	}
}

// Restart stops the broker and starts it again on the same log dir, and on a new port.
func (n *Node) Restart(t testing.TB) {
	t.Helper()
	n.Stop(t)
	n.start(t)
}

// logged sends the broker's warnings to the test's log.
type logged struct{ t testing.TB }

func (l logged) Write(b []byte) (int, error) {
	defer func() { _ = recover() }() // the test may be over
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// Conn is one raw connection to a broker.
type Conn struct {
	net.Conn
	t   testing.TB
	cor int32
}

// timeout bounds every wait of a test for the broker.
const timeout = 20 * time.Second

// Dial opens a connection, closed with the test.
func (n *Node) Dial(t testing.TB) *Conn {
	t.Helper()
	c, err := net.Dial("tcp", n.Addr)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return &Conn{Conn: c, t: t}
}

// Frame is a request as it goes over the wire.
func (c *Conn) Frame(req kmsg.Request) []byte {
	c.cor++
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("test"))
	return f.AppendRequest(nil, req, c.cor)
}

// Send writes a request without waiting.
func (c *Conn) Send(req kmsg.Request) {
	c.t.Helper()
	c.SendRaw(c.Frame(req))
}

// SendRaw writes bytes as they are.
func (c *Conn) SendRaw(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// ReadFrame reads one answer, without its size; io.EOF if the broker closed.
func (c *Conn) ReadFrame() ([]byte, error) {
	_ = c.SetReadDeadline(time.Now().Add(timeout))
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(c, b)
	return b, err
}

// Receive reads the answer to a request that was sent.
func (c *Conn) Receive(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	b, err := c.ReadFrame()
	if err != nil {
		c.t.Fatalf("read answer to %s v%d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	b = b[4:]
	if resp.IsFlexible() && req.Key() != kmsg.ApiVersions.Int16() {
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		c.t.Fatalf("decode answer to %s v%d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp
}

// Do sends a request and reads its answer.
func (c *Conn) Do(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	c.Send(req)
	return c.Receive(req)
}

// ExpectClosed fails the test unless the broker closes the connection without a byte.
func (c *Conn) ExpectClosed() {
	c.t.Helper()
	if b, err := c.ReadFrame(); err == nil {
		c.t.Fatalf("answered %x, want the connection closed", b)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Fatal("neither answered nor closed")
	}
}

// CreateTopic creates a topic with one partition unless told otherwise.
func (c *Conn) CreateTopic(name string, partitions int32, configs ...string) [16]byte {
	c.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = 7, 10_000
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	for i := 0; i+1 < len(configs); i += 2 {
		topic.Configs = append(topic.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	req.Topics = append(req.Topics, topic)
	resp := c.Do(req).(*kmsg.CreateTopicsResponse)
	if code := resp.Topics[0].ErrorCode; code != 0 {
		c.t.Fatalf("create %s: error %d", name, code)
	}
	return resp.Topics[0].TopicID
}
