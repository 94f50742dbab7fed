package broker

import (
	"log/slog"
	"sync"
	"time"

	"millrace/net/server"
)

// oddities logs what clients send that cannot be served: at most one line for each
// kind and API in a minute, whatever they send.
type oddities struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	last map[oddity]time.Time
}

type oddity struct {
	kind         string
	key, version int16
}

const oddityInterval = time.Minute

func newOddities(log *slog.Logger, now func() time.Time) *oddities {
	return &oddities{log: log, now: now, last: map[oddity]time.Time{}}
}

func (o *oddities) say(r *server.Request, kind string, err error) {
	at, k := o.now(), oddity{kind, r.Header.APIKey, r.Header.APIVersion}
	o.mu.Lock()
	if at.Sub(o.last[k]) < oddityInterval && !o.last[k].IsZero() {
		o.mu.Unlock()
		return
	}
	if len(o.last) > 1000 { // a scanner walks through keys and versions
		clear(o.last)
	}
	o.last[k] = at
	o.mu.Unlock()
	o.log.Warn(kind, "api_key", r.Header.APIKey, "api_version", r.Header.APIVersion, "client", r.Client().ID, "host", r.Client().Host, "error", err)
}

func (o *oddities) unsupported(r *server.Request) {
	o.say(r, "unsupported request, connection closed", nil)
}
func (o *oddities) malformed(r *server.Request, err error) {
	o.say(r, "malformed request, connection closed", err)
}
