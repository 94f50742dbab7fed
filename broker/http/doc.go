// Package http is the window for people and monitoring: Prometheus metrics, health, and Go's profiles, on a port of
// its own that is bound to loopback unless the configuration says otherwise.
//
//	/metrics        Prometheus text format
//	/healthz        200 while the process can go on, else 503 with the reason
//	/readyz         200 while clients are served, else 503 with the reason
//	/debug/pprof/   profiles of net/http/pprof
//
// It changes nothing: only GET and HEAD are answered, bodies are not read, and every request has a deadline. It knows
// no other package of the broker; what it shows are functions handed in at start, called on the goroutine of the
// scrape, from several at once.
package http
