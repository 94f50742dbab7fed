package server

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"
)

// ListenerConfig is one address to listen on.
type ListenerConfig struct {
	Name           string // as in listeners=NAME://host:port
	Host           string // "" or "::" is every address, IPv6 and IPv4; brackets are allowed
	Port           int    // 0: the system chooses
	AdvertisedHost string // "" is Host, or the host's name if that is every address
	AdvertisedPort int32  // 0 is the bound port
}

// Options of Start. Zero values take the default.
type Options struct {
	Listeners []ListenerConfig
	Handler   Handler
	Logger    *slog.Logger // default slog.Default()
	Loops     int          // event loops; default GOMAXPROCS
	Bells     *Bells       // what others hold while they answer; nil: nobody does
	Readers   int          // goroutines that read file ranges which are not in the page cache; default DefaultReaders

	MaxFrameBytes   int // socket.request.max.bytes; default 100 MiB
	MaxControlBytes int // the same for requests that are not Produce; default 16 MiB

	MaxConnBytes     int   // bytes of unanswered requests per connection; default 32 MiB; one frame is always let in
	MaxConnRequests  int   // requests of a connection that are not yet answered and sent; default 1,000
	MaxConnQueued    int   // bytes of responses in memory per connection that are not sent; default 8 MiB
	MaxInputBytes    int64 // bytes of unanswered requests in all; default 256 MiB; frames under way may take as much again
	MaxConnections   int   // max.connections; default unlimited
	MaxConnectionsIP int   // max.connections.per.ip; default unlimited

	FrameTimeout      time.Duration // for one request to arrive, beyond the time that its bytes take at MinByteRate; default 30 s
	SlowReaderTimeout time.Duration // without progress on queued output, and beyond its time at MinByteRate; default 30 s
	MinByteRate       int           // bytes per second that slow clients must keep up; default 16 KiB
	MaxIdle           time.Duration // connections.max.idle.ms; default 10 min
}

// DefaultReaders is how many goroutines read file ranges unless Options say otherwise.
const DefaultReaders = 4

const (
	defaultFrameBytes   = 100 << 20
	defaultControlBytes = 16 << 20
)

// setDefault puts v where nothing was set.
func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// complete fills in defaults and checks what cannot work.
func (o *Options) complete() error {
	if o.Handler == nil {
		return errors.New("server: no handler")
	}
	if len(o.Listeners) == 0 {
		return errors.New("server: no listeners")
	}
	setDefault(&o.Logger, slog.Default())
	setDefault(&o.Loops, runtime.GOMAXPROCS(0))
	setDefault(&o.Readers, DefaultReaders)
	setDefault(&o.MaxFrameBytes, defaultFrameBytes)
	setDefault(&o.MaxControlBytes, defaultControlBytes)
	setDefault(&o.MaxConnBytes, 32<<20)
	setDefault(&o.MaxConnRequests, 1000)
	setDefault(&o.MaxConnQueued, 8<<20)
	setDefault(&o.MaxInputBytes, 256<<20)
	setDefault(&o.MinByteRate, 16<<10)
	setDefault(&o.FrameTimeout, 30*time.Second)
	setDefault(&o.SlowReaderTimeout, 30*time.Second)
	setDefault(&o.MaxIdle, 10*time.Minute)
	for _, v := range []struct {
		name string
		n    int64
	}{
		{"Loops", int64(o.Loops)}, {"Readers", int64(o.Readers)},
		{"MaxFrameBytes", int64(o.MaxFrameBytes)}, {"MaxControlBytes", int64(o.MaxControlBytes)},
		{"MaxConnBytes", int64(o.MaxConnBytes)}, {"MaxConnRequests", int64(o.MaxConnRequests)},
		{"MaxConnQueued", int64(o.MaxConnQueued)}, {"MaxInputBytes", o.MaxInputBytes},
		{"MinByteRate", int64(o.MinByteRate)}, {"FrameTimeout", int64(o.FrameTimeout)},
		{"SlowReaderTimeout", int64(o.SlowReaderTimeout)}, {"MaxIdle", int64(o.MaxIdle)},
	} {
		if v.n < 0 {
			return fmt.Errorf("server: %s is %d, want a positive number", v.name, v.n)
		}
	}
	return nil
}

// Sweeping: each connection is looked at once in sweepParts ticks.
const (
	maxTick    = 250 * time.Millisecond
	minTick    = 5 * time.Millisecond
	sweepParts = 4
)

// tick returns how often a loop looks at a part of its connections: fine enough for
// the shortest of the deadlines.
func (o *Options) tick() time.Duration {
	shortest := min(o.FrameTimeout, o.SlowReaderTimeout, o.MaxIdle)
	return min(max(shortest/(4*sweepParts), minTick), maxTick)
}
