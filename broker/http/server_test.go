package http

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

func start(t *testing.T, o Options) *Server {
	t.Helper()
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	o.Logger = slog.New(slog.DiscardHandler)
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// get sends one request with its own connection and returns status and body.
func get(t *testing.T, s *Server, method, path, host, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+s.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host, req.Close = host, true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestMetricsAreReadWhenAsked(t *testing.T) {
	var requests atomic.Int64
	s := start(t, Options{Metrics: []Metric{
		Value("requests_total", "Requests.", Counter, requests.Load),
		{Name: "topic_bytes", Help: "Bytes.", Kind: Gauge, Labels: []string{"topic"}, Read: func(emit func(float64, ...string)) {
			emit(1, "a")
			emit(2, "b\"\n")
		}},
		{Name: "wait_seconds", Help: "Waits.", ReadHistogram: func(emit func(Histogram, ...string)) {
			emit(Histogram{Count: 3, Sum: 12.5, Buckets: map[float64]uint64{10: 2, 0.5: 1}})
		}},
	}})
	requests.Store(41)
	requests.Add(1)
	status, body := get(t, s, "GET", "/metrics", "", "")
	for _, want := range []string{
		"# TYPE millrace_requests_total counter\nmillrace_requests_total 42\n",
		"# TYPE millrace_topic_bytes gauge\n", `millrace_topic_bytes{topic="a"} 1`, `millrace_topic_bytes{topic="b\"\n"} 2`,
		"# TYPE millrace_wait_seconds histogram\nmillrace_wait_seconds_bucket{le=\"0.5\"} 1\nmillrace_wait_seconds_bucket{le=\"10\"} 2\n" +
			"millrace_wait_seconds_bucket{le=\"+Inf\"} 3\nmillrace_wait_seconds_sum 12.5\nmillrace_wait_seconds_count 3\n",
		"go_goroutines ", "process_resident_memory_bytes ",
	} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("status %d, no %q", status, want)
		}
	}
}

func TestABadRowDoesNotHideTheOthers(t *testing.T) {
	s := start(t, Options{Metrics: []Metric{
		{Name: "bad", Help: "Bad.", Kind: Gauge, Labels: []string{"topic"}, Read: func(emit func(float64, ...string)) { emit(1) }},
		Value("good", "Good.", Gauge, func() int64 { return 5 }),
	}})
	if status, body := get(t, s, "GET", "/metrics", "", ""); status != 200 || !strings.Contains(body, "millrace_good 5") {
		t.Errorf("status %d\n%s", status, body)
	}
}

func TestProbes(t *testing.T) {
	var why atomic.Pointer[error]
	check := func() error {
		if p := why.Load(); p != nil {
			return *p
		}
		return nil
	}
	s := start(t, Options{Ready: check})
	if status, body := get(t, s, "GET", "/readyz", "", ""); status != 200 || body != "ok\n" {
		t.Errorf("ready: %d %q", status, body)
	}
	err := errors.New("log dir offline")
	why.Store(&err)
	if status, body := get(t, s, "GET", "/readyz", "", ""); status != 503 || body != "log dir offline\n" {
		t.Errorf("not ready: %d %q", status, body)
	}
	if status, _ := get(t, s, "GET", "/healthz", "", ""); status != 200 {
		t.Errorf("live: %d", status)
	}
}

func TestWhatIsRefused(t *testing.T) {
	s := start(t, Options{})
	for _, c := range []struct {
		method, path, host, body string
		want                     int
	}{
		{"POST", "/metrics", "", "", 405},
		{"DELETE", "/healthz", "", "", 405},
		{"GET", "/", "", "", 404},
		{"GET", "/healthz", "evil.example.org", "", 403},
		{"GET", "/healthz", "localhost:1", "", 200},
		{"GET", "/healthz", "[::1]:1", "", 200},
		{"HEAD", "/healthz", "", "", 200},
		{"GET", "/healthz", "", "body", 413},
		{"GET", "/debug/pprof/profile?seconds=100000", "", "", 400},
		{"GET", "/debug/pprof/profile?seconds=x", "", "", 400},
		{"GET", "/debug/pprof/goroutine?debug=1", "", "", 200},
		{"GET", "/debug/pprof/cmdline", "", "", 200},
		{"GET", "/debug/pprof/", "", "", 200},
	} {
		if status, _ := get(t, s, c.method, c.path, c.host, c.body); status != c.want {
			t.Errorf("%s %s, host %q, body %q: %d, want %d", c.method, c.path, c.host, c.body, status, c.want)
		}
	}
}

func TestOnlyLoopbackUnlessTold(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0", "nonsense"} {
		if s, err := Start(Options{Addr: addr, Logger: slog.New(slog.DiscardHandler)}); err == nil {
			t.Errorf("%s is served at %s", addr, s.Addr())
		}
	}
	s := start(t, Options{Addr: "0.0.0.0:0", Remote: true})
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get("http://127.0.0.1:" + port + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

func TestAHugeHeaderIsCutOff(t *testing.T) {
	s := start(t, Options{})
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n", strings.Repeat("a", 1<<20))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return // cut off before the answer could be read
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("status %d", resp.StatusCode)
	}
}
