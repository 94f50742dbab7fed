package oracle

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Handshake: ApiVersions in all its forms, and everything that is not Kafka.

var announcements = []Rule{
	Keyed("*.ApiKeys", "ApiKey"), Keyed("*.SupportedFeatures", "Name"), Keyed("*.FinalizedFeatures", "Name"),
	Masked("*.FinalizedFeaturesEpoch"),
}

func handshakeProbes() []Probe {
	var probes []Probe
	for v := range int16(6) {
		probes = append(probes, Probe{Name: fmt.Sprintf("apiversions-v%d", v), Rules: announcements, Play: func(r *Run) {
			r.askAny("answer", v, apiVersions("probe", "1.0"))
		}})
	}
	probes = append(probes, unknownApiVersions()...)
	probes = append(probes, softwareNames()...)
	probes = append(probes, notKafka()...)
	probes = append(probes, oddFrames()...)
	return append(probes, pipelines()...)
}

// announced reads the answer to an ApiVersions request of version 0 and writes down
// that it is one; what is in it, the probes apiversions-* compare.
func (r *Run) announced(label string, c *Conn, correlation int32) {
	resp := receive[*kmsg.ApiVersionsResponse](r, c, label, apiVersions("", ""), correlation)
	r.Note(label+".ErrorCode", errorName(resp.ErrorCode))
	r.Note(label+" lists keys", len(resp.ApiKeys) > 0)
}

// alive asks for ApiVersions on c.
func (r *Run) alive(label string, c *Conn) {
	frame, correlation := c.encode(apiVersions("", ""))
	c.Write(frame)
	r.announced(label, c, correlation)
}

func apiVersions(name, version string) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = name, version
	return req
}

// unknownApiVersions: versions the broker does not know are answered with version
// 0 and error 35, so that a newer client can step down.
func unknownApiVersions() []Probe {
	var probes []Probe
	for _, v := range []int16{6, 99, 32767, -1} {
		probes = append(probes, Probe{Name: fmt.Sprintf("apiversions-unknown-version-%d", v), Rules: announcements, Play: func(r *Run) {
			for _, flexible := range []bool{false, true} {
				c := r.Dial()
				h := header{apiVersionsKey, v, 7, &clientID, flexible}
				c.Write(sized(appendHeader(nil, h)))
				label := fmt.Sprintf("flexible=%v", flexible)
				resp := receive[*kmsg.ApiVersionsResponse](r, c, label, apiVersions("", ""), 7)
				r.see(label, resp)
				askOn[*kmsg.ApiVersionsResponse](r, c, label+".next", 0, apiVersions("", ""))
			}
		}})
	}
	return probes
}

func softwareNames() []Probe {
	var probes []Probe
	for name, s := range map[string][2]string{
		"empty-name": {"", "1.0"}, "empty-version": {"probe", ""}, "space": {"my client", "1.0"},
		"dash-first": {"-probe", "1.0"}, "dot-last": {"probe.", "1.0"}, "umlaut": {"pröbe", "1.0"},
		"dots-and-dashes": {"a.b-c", "1-2.3"}, "one-letter": {"a", "1"}, "newline": {"probe\n", "1.0"},
		"slash-version": {"probe", "1/0"}, "long": {strings.Repeat("a", 5000), "1.0"},
	} {
		probes = append(probes, Probe{Name: "apiversions-software-" + name, Play: func(r *Run) {
			for _, v := range []int16{3, 5} {
				resp := send[*kmsg.ApiVersionsResponse](r, r.Conn(), "answer", v, apiVersions(s[0], s[1]))
				r.Note(fmt.Sprintf("v%d.ErrorCode", v), errorName(resp.ErrorCode))
				r.Note(fmt.Sprintf("v%d.lists keys", v), len(resp.ApiKeys) > 0)
			}
		}})
	}
	cluster := func(name string, id *string, node int32) Probe {
		return Probe{Name: "apiversions-v5-routed-to-" + name, Play: func(r *Run) {
			req := apiVersions("probe", "1.0")
			req.ClusterID, req.NodeID = id, node
			resp := send[*kmsg.ApiVersionsResponse](r, r.Conn(), "answer", 5, req)
			r.Note("ErrorCode", errorName(resp.ErrorCode))
			r.Note("lists keys", len(resp.ApiKeys) > 0)
		}}
	}
	return append(probes, cluster("another-cluster", ptr("no-such-cluster"), -1), cluster("another-node", nil, 77), cluster("this-node", nil, 1))
}

// notKafka: bytes of other protocols and broken lengths.
func notKafka() []Probe {
	var probes []Probe
	for name, b := range map[string][]byte{
		"http":            []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"tls-hello":       append([]byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}, bytes.Repeat([]byte{7}, 506)...),
		"ff":              bytes.Repeat([]byte{0xff}, 64),
		"length-negative": {0x80, 0, 0, 0, 1},
		"length-minus-1":  {0xff, 0xff, 0xff, 0xff},
		"length-2-gib":    {0x7f, 0xff, 0xff, 0xff, 0, 18, 0, 0},
		"length-over-max": {0x06, 0x40, 0x00, 0x01, 0, 18, 0, 0}, // 100 MiB + 1
		"length-zero":     {0, 0, 0, 0},
		"length-3":        {0, 0, 0, 3, 0, 18, 0},
		"header-cut":      {0, 0, 0, 9, 0, 18, 0, 0, 0, 0, 0, 1, 0},
		"client-id-lies":  {0, 0, 0, 12, 0, 18, 0, 0, 0, 0, 0, 1, 0x7f, 0xff, 'a', 'b'},
		"client-id-minus": {0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0x80, 0},
		"header-tag-lies": {0, 0, 0, 14, 0, 18, 0, 3, 0, 0, 0, 1, 0xff, 0xff, 1, 0, 0x7f, 0},
	} {
		probes = append(probes, Probe{Name: "bytes-" + name, Play: func(r *Run) {
			r.Conn().Write(b)
			r.outcome("then", r.Conn(), 2*time.Second)
			r.alive("others go on", r.Dial())
		}})
	}
	return probes
}

// oddFrames: well framed, wrong inside.
func oddFrames() []Probe {
	raw := func(name string, frame []byte) Probe {
		return Probe{Name: "frame-" + name, Play: func(r *Run) {
			r.Conn().Write(frame)
			r.outcome("then", r.Conn(), 2*time.Second)
		}}
	}
	withHeader := func(key, version int16, flexible bool, body ...byte) []byte {
		return sized(append(appendHeader(nil, header{key, version, 9, &clientID, flexible}), body...))
	}
	probes := []Probe{
		raw("unknown-key-95", withHeader(95, 0, true)),
		raw("unknown-key-999", withHeader(999, 0, false)),
		raw("unknown-key-minus-1", withHeader(-1, 0, false)),
		raw("dead-key-4", withHeader(4, 0, false)),
		raw("dead-key-5", withHeader(5, 0, false)),
		raw("dead-key-6", withHeader(6, 0, false)),
		raw("dead-key-7", withHeader(7, 0, false)),
		raw("controller-key-52", withHeader(52, 0, true)),
		raw("controller-key-62", withHeader(62, 0, true)),
		raw("metadata-body-missing", withHeader(3, 1, false)),
		raw("metadata-count-lies", withHeader(3, 1, false, 0x7f, 0xff, 0xff, 0xff)),
		raw("metadata-count-minus-2", withHeader(3, 1, false, 0xff, 0xff, 0xff, 0xfe)),
		raw("metadata-name-lies", withHeader(3, 1, false, 0, 0, 0, 1, 0x7f, 0xff, 'a')),
		raw("metadata-name-null", withHeader(3, 1, false, 0, 0, 0, 1, 0xff, 0xff)),
		raw("metadata-compact-count-lies", withHeader(3, 9, true, 0xff, 0xff, 0xff, 0xff, 0x0f)),
		raw("metadata-varint-too-long", withHeader(3, 9, true, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)),
		raw("produce-body-cut", withHeader(0, 3, false, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 100, 0, 0, 0, 1)),
		raw("produce-records-lie", withHeader(0, 3, false, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 100, 0, 0, 0, 1, 0, 1, 'a', 0, 0, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff)),
		raw("fetch-count-lies", withHeader(1, 4, false, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 100, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0x7f, 0xff, 0xff, 0xff)),
		raw("joingroup-cut", withHeader(11, 5, false, 0, 1, 'g', 0, 0)),
		raw("apiversions-v3-body-missing", withHeader(18, 3, true)),
		raw("apiversions-v0-trailing-bytes", withHeader(18, 0, false, 1, 2, 3)),
		raw("metadata-trailing-bytes", withHeader(3, 1, false, 0, 0, 0, 0, 9, 9, 9)),
		{Name: "frame-unknown-tags", Rules: []Rule{Masked("*.Port"), clusterID, Masked("*.ClusterID")}, Play: func(r *Run) {
			r.Conn().Write(withHeader(3, 12, true, 1, 0, 0, 1, 5, 3, 'a', 'b', 'c'))
			req := kmsg.NewPtrMetadataRequest()
			req.SetVersion(12)
			r.see("answer", receive[kmsg.Response](r, r.Conn(), "answer", req, 9))
		}},
		{Name: "frame-client-id-null", Play: func(r *Run) {
			r.Conn().Write(sized(appendHeader(nil, header{apiVersionsKey, 0, 1, nil, false})))
			r.announced("answer", r.Conn(), 1)
		}},
		{Name: "frame-client-id-long", Play: func(r *Run) {
			r.Conn().Write(sized(appendHeader(nil, header{apiVersionsKey, 0, 1, ptr(strings.Repeat("x", 32767)), false})))
			r.announced("answer", r.Conn(), 1)
		}},
		{Name: "frame-correlation-negative", Play: func(r *Run) {
			r.Conn().Write(sized(appendHeader(nil, header{apiVersionsKey, 0, -5, nil, false})))
			r.announced("answer", r.Conn(), -5)
		}},
	}
	return probes
}

// pipelines: many requests under way on one connection, frames in pieces.
func pipelines() []Probe {
	return []Probe{
		{Name: "pipeline-50-requests-one-write", Play: func(r *Run) {
			var all []byte
			for i := range int32(50) {
				all = append(all, sized(appendHeader(nil, header{apiVersionsKey, 0, i, &clientID, false}))...)
			}
			r.Conn().Write(all)
			for i := range int32(50) {
				receive[kmsg.Response](r, r.Conn(), fmt.Sprint("answer ", i), apiVersions("", ""), i)
			}
			r.Note("in order", true)
		}},
		{Name: "pipeline-parked-fetch-holds-the-rest", Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			fetch := fetchFrom(name, 0)
			fetch.MaxWaitMillis, fetch.MinBytes = 600, 1
			fetch.SetVersion(11)
			start := time.Now()
			frame, first := r.Conn().encode(fetch)
			next := apiVersions("", "")
			frame2, second := r.Conn().encode(next)
			r.Conn().Write(append(frame, frame2...))
			receive[kmsg.Response](r, r.Conn(), "fetch", fetch, first)
			receive[kmsg.Response](r, r.Conn(), "next", next, second)
			r.Note("waited", time.Since(start) >= 550*time.Millisecond)
		}},
		{Name: "pipeline-byte-by-byte", Play: func(r *Run) {
			frame, id := r.Conn().encode(apiVersions("", ""))
			for _, b := range frame {
				r.Conn().Write([]byte{b})
			}
			r.announced("answer", r.Conn(), id)
		}},
		{Name: "pipeline-half-frame-then-gone", Play: func(r *Run) {
			c := r.Dial()
			c.Write([]byte{0, 0, 4, 0, 0, 18, 0, 0})
			c.Close()
			r.alive("after", r.Conn())
		}},
		{Name: "pipeline-acks-0-keeps-order", Play: func(r *Run) {
			name, _ := r.topic("t", 1)
			produce := produceTo(name, 0, plain(1))
			produce.Acks = 0
			produce.SetVersion(9)
			frame, _ := r.Conn().encode(produce)
			next := apiVersions("", "")
			frame2, id := r.Conn().encode(next)
			r.Conn().Write(append(frame, frame2...))
			r.announced("next", r.Conn(), id)
		}},
		{Name: "pipeline-bad-frame-after-good", Play: func(r *Run) {
			frame, id := r.Conn().encode(apiVersions("", ""))
			bad := sized(appendHeader(nil, header{999, 0, 1, &clientID, false}))
			r.Conn().Write(append(frame, bad...))
			r.announced("good", r.Conn(), id)
			r.outcome("bad", r.Conn(), 2*time.Second)
		}},
		{Name: "sasl-handshake-on-plaintext", Play: func(r *Run) {
			for v := range int16(2) {
				c := r.Dial()
				req := kmsg.NewPtrSASLHandshakeRequest()
				req.Mechanism = "PLAIN"
				req.SetVersion(v)
				frame, id := c.encode(req)
				c.Write(frame)
				r.see(fmt.Sprint("v", v), receive[kmsg.Response](r, c, fmt.Sprint("v", v), req, id))
			}
		}},
	}
}
