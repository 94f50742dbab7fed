package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestMain is the program itself when the tests start it, so that they run the real thing in a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("MILLRACE_TEST_PROGRAM") != "" {
		os.Unsetenv("MILLRACE_TEST_PROGRAM")
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// node is a running millrace serve.
type node struct {
	cmd    *exec.Cmd
	banner []string
	addr   string // of its listener
	stderr *strings.Builder
	exited chan error
}

// startNode runs serve on a free port and returns when it has printed where it listens.
func startNode(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--set", "log.slab.bytes=16777216"}, args...)
	n := &node{cmd: exec.CommandContext(ctx, os.Args[0], args...), stderr: &strings.Builder{}, exited: make(chan error, 1)}
	n.cmd.Env = append(append(os.Environ(), "MILLRACE_TEST_PROGRAM=1"), env...)
	n.cmd.Stderr = n.stderr
	stdout, err := n.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for n.addr == "" && lines.Scan() {
		n.banner = append(n.banner, lines.Text())
		if _, addr, ok := strings.Cut(lines.Text(), "PLAINTEXT://"); ok {
			n.addr = addr
		}
	}
	if n.addr == "" {
		err := n.cmd.Wait()
		t.Fatalf("serve ended: %v\n%s", err, n.stderr)
	}
	go func() {
		for lines.Scan() {
			n.banner = append(n.banner, lines.Text())
		}
		n.exited <- n.cmd.Wait()
	}()
	return n
}

// stop ends the node with a signal and returns its exit status.
func (n *node) stop(t *testing.T) int {
	t.Helper()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := <-n.exited
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

func client(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("events")}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A node is started, written to, stopped, checked, printed, started again and read.
func TestServeKeepsWhatItAcknowledged(t *testing.T) {
	const n = 100
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "data")
	first := startNode(t, nil, "--data-dir", dir)
	producer := client(t, first.addr)
	for i := range n {
		if err := producer.ProduceSync(ctx, kgo.StringRecord(fmt.Sprint("record ", i))).FirstErr(); err != nil {
			t.Fatalf("%v\n%s", err, first.stderr)
		}
	}
	producer.Close()
	if code := first.stop(t); code != 0 {
		t.Fatalf("exit status %d\n%s", code, first.stderr)
	}
	banner := strings.Join(first.banner, "\n")
	for _, want := range []string{"listening   PLAINTEXT://127.0.0.1:", "engine ", "writes ", "durability  flush: on disk before any acknowledgement", "data        " + dir} {
		if !strings.Contains(banner, want) {
			t.Errorf("no %q in\n%s", want, banner)
		}
	}

	if status, out := command(t, "verify", dir); status != 0 || !strings.Contains(out, "no damage") {
		t.Errorf("verify: status %d\n%s", status, out)
	}
	status, out := command(t, "dump", "--records", dir)
	for _, want := range []string{`payload: "record 99"`, "payload: TopicRecord ", "cluster.id: ", "topicId: "} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("dump: status %d, no %q", status, want)
		}
	}

	second := startNode(t, []string{"MILLRACE_LOG_DIRS=" + dir})
	consumer := client(t, second.addr, kgo.ConsumeTopics("events"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	var got []string
	for len(got) < n {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("after %d records: %v\n%s", len(got), err, second.stderr)
		}
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
	}
	for i, v := range got {
		if v != fmt.Sprint("record ", i) {
			t.Fatalf("record %d is %q", i, v)
		}
	}
	consumer.Close()
	if code := second.stop(t); code != 0 {
		t.Errorf("exit status %d\n%s", code, second.stderr)
	}
}

// A listener on all addresses cannot be what clients are told: the banner says what they are.
func TestServeSaysWhatItAdvertises(t *testing.T) {
	n := startNode(t, nil, "--data-dir", t.TempDir(), "--set", "advertised.listeners=PLAINTEXT://broker.example.org:9092")
	if bound, told, ok := strings.Cut(n.addr, ", advertised as "); !ok || !strings.HasPrefix(bound, "127.0.0.1:") || told != "broker.example.org:9092" {
		t.Errorf("listening %q", n.addr)
	}
	if code := n.stop(t); code != 0 {
		t.Errorf("exit status %d\n%s", code, n.stderr)
	}
}

func TestServeTellsSystemd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	receive := func() string {
		b := make([]byte, 100)
		n, err := socket.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	n := startNode(t, []string{"NOTIFY_SOCKET=" + path}, "--data-dir", t.TempDir())
	if s := receive(); s != "READY=1" {
		t.Errorf("at start: %q", s)
	}
	if code := n.stop(t); code != 0 {
		t.Errorf("exit status %d\n%s", code, n.stderr)
	}
	if s := receive(); s != "STOPPING=1" {
		t.Errorf("at the end: %q", s)
	}
}

func TestServeSaysWhyItDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "server.properties")
	if err := os.WriteFile(file, []byte("num.partitions=none\nlog.dirs="+dir+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "where is the data to be?"},
		{[]string{"--config", file}, "Invalid value none for configuration num.partitions: Not a number of type INT"},
		{[]string{"--config", file + ".none"}, "no such file"},
		{[]string{"--dev", "--set", "novalue"}, "must be key=value"},
		{[]string{"--dev", "--listen", "9092"}, "--listen must be HOST:PORT"},
		{[]string{"--dev", "--log-level", "loud"}, "--log-level"},
		{[]string{"--data-dir", file, "--listen", "127.0.0.1:0"}, file},
		{[]string{"--no-such-flag"}, "unknown flag"},
	} {
		cmd := exec.Command(os.Args[0], append([]string{"serve"}, c.args...)...)
		cmd.Env = append(os.Environ(), "MILLRACE_TEST_PROGRAM=1")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v\n%s\nwant %q", c.args, err, out, c.want)
		}
	}
}

// command runs a verb of the program in this process.
func command(t *testing.T, args ...string) (status int, out string) {
	t.Helper()
	var b strings.Builder
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(&b)
	root.SetErr(io.Discard)
	err := root.Execute()
	var s exitStatus
	switch {
	case errors.As(err, &s):
		return int(s), b.String()
	case err != nil:
		return 1, b.String() + err.Error()
	}
	return 0, b.String()
}
