package http

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	maxRequests   = 32 // at once; more get 503
	maxHeader     = 16 << 10
	readTimeout   = 5 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	maxProfileSec = 120
)

// Options are what a Server shows and where.
type Options struct {
	Addr string // HOST:PORT; port 0: the kernel chooses
	// Remote allows an address that other machines can reach. Nothing here asks who they are.
	Remote  bool
	Metrics []Metric
	Live    func() error // nil, or why the process cannot go on
	Ready   func() error // nil, or why clients are not served
	Logger  *slog.Logger
}

// Server answers HTTP until Shutdown.
type Server struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{}
}

// Start listens and serves. The listener is open when it returns.
func Start(o Options) (*Server, error) {
	if err := checkAddr(o.Addr, o.Remote); err != nil {
		return nil, err
	}
	handler, err := handler(o)
	if err != nil {
		return nil, fmt.Errorf("http metrics: %w", err)
	}
	l, err := net.Listen("tcp", o.Addr)
	if err != nil {
		return nil, fmt.Errorf("http.listen (flag --http; off for none): %w", err)
	}
	s := &Server{listener: l, done: make(chan struct{}), http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			o.Logger.Error("http server ended", "error", err)
		}
	}()
	return s, nil
}

// Addr is where the server listens, HOST:PORT.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Shutdown waits for the requests under way, until ctx ends: then it cuts them off. The port is closed when it returns.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.http.Close())
	}
	<-s.done
	return err
}

// checkAddr refuses an address beyond loopback unless that was asked for.
func checkAddr(addr string, remote bool) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("http.listen: %w", err)
	}
	if !remote && !isLoopback(host) {
		return fmt.Errorf("http.listen %s: other machines can reach it, and nothing here asks who they are", addr)
	}
	return nil
}

func isLoopback(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.Unmap().IsLoopback()
}

func handler(o Options) (http.Handler, error) {
	reg, err := registry(o.Metrics)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", state(o.Live))
	mux.HandleFunc("GET /readyz", state(o.Ready))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return guard(mux, o.Remote), nil
}

// state answers a probe.
func state(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if check != nil {
			if err := check(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				fmt.Fprintln(w, err)
				return
			}
		}
		fmt.Fprintln(w, "ok")
	}
}

// guard bounds how many requests run and for how long, and answers nobody but those who mean this server: a browser
// that was told that some name is 127.0.0.1 (DNS rebinding) sends that name as the host.
func guard(next http.Handler, remote bool) http.Handler {
	slots := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !remote && !addressedDirectly(r.Host) {
			http.Error(w, "unknown host", http.StatusForbidden)
			return
		}
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close")
			http.Error(w, "no body, please", http.StatusRequestEntityTooLarge)
			return
		}
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		seconds := 0
		if text := r.URL.Query().Get("seconds"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > maxProfileSec {
				http.Error(w, fmt.Sprintf("seconds must be a number from 0 to %d", maxProfileSec), http.StatusBadRequest)
				return
			}
			seconds = n
		}
		deadline := time.Now().Add(writeTimeout + time.Duration(seconds)*time.Second)
		if err := http.NewResponseController(w).SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
			http.Error(w, "no deadline", http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// addressedDirectly reports whether a Host header is an address or localhost.
func addressedDirectly(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	_, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil
}
