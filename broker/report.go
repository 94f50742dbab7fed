package broker

import (
	"net"
	"strconv"
	"strings"
)

// Report is what a person wants to know of a node that has just started.
type Report struct {
	Listeners  []string // NAME://host:port, as bound, and what clients are told if that is another address
	HTTP       string   // address of the HTTP port, empty if it is off
	Engine     string   // which I/O engine runs, and why
	IO         string   // direct or buffered writes, and why
	Durability string   // the default policy
	StartMs    int64    // from Start to serving
	Limits     []string // what is too low, with the line that changes it
}

// Report describes the running node.
func (b *Broker) Report() Report {
	r := Report{StartMs: b.took.Milliseconds(), Durability: "flush", Limits: b.partitionLimits()}
	if t, err := b.meta.Image().Config.ResolveTopic(nil); err == nil {
		r.Durability = t.Durability
	}
	for _, l := range b.server.Listeners() {
		line := l.Name + "://" + l.Addr.String()
		if told := net.JoinHostPort(l.AdvertisedHost, strconv.Itoa(int(l.AdvertisedPort))); told != l.Addr.String() {
			line += ", advertised as " + told
		}
		r.Listeners = append(r.Listeners, line)
	}
	if b.http != nil {
		r.HTTP = b.http.Addr()
	}
	r.Engine = b.eachDir(func(i int) string { return b.dirs[i].Engine() })
	r.IO = b.eachDir(func(i int) string { return b.dirs[i].IO() })
	return r
}

// eachDir joins what the log dirs say: once if all say the same.
func (b *Broker) eachDir(say func(i int) string) string {
	var said []string
	for i := range b.dirs {
		if x := say(i); len(said) == 0 || said[0] != x {
			said = append(said, x)
		}
	}
	return strings.Join(said, ", ")
}

// ParkedFetches is the number of fetches that wait for data.
func (b *Broker) ParkedFetches() int64 { return b.data.Stats().Parked }

// Connections is the number of open connections.
func (b *Broker) Connections() int64 { return b.server.Stats().Connections }
