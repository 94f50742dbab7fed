package main

import (
	"fmt"
	"slices"
	"strings"
)

// The contenders that targets are about, and those that they are compared with.
const (
	ours         = "millrace"
	oursAsync    = "millrace-async"
	rival        = "kafka"
	rivalFlushed = "kafka-flushed"
	floor        = "floor"
	floorAsync   = "floor-async"
	clientLimit  = "client-limit"
	rocketmq     = "rocketmq"
	nats         = "nats"
	natsAlways   = "nats-always"
	rabbit       = "rabbitmq"
	rabbitStream = "rabbitmq-stream"
)

// contender is a broker with its settings.
type contender struct {
	name    string   // in rows and tables
	program string   // in bench/peers; empty is the name
	sets    []string // settings, KEY=VALUE
	client  client   // how it is driven
	// renewed contenders begin each measurement from nothing, because they do not free
	// what a topic leaves when it is deleted.
	renewed bool
	// onRequest contenders take part only if --peers names them.
	onRequest bool
}

// client is the program that drives a contender.
type client string

const (
	kafkaClient  client = ""         // bench/load
	rocketClient client = "rocketmq" // RocketLoad
	natsClient   client = "nats"     // bench/mqload, and so the next
	rabbitClient client = "rabbitmq"
	streamClient client = "rabbitmq-stream"
)

// soonDeleted has files deleted after one second instead of sixty, by both brokers alike.
const soonDeleted = "log.segment.delete.delay.ms=1000"

// known are all contenders.
var known = []contender{
	{name: clientLimit, program: "floor", sets: []string{"io=nothing"}},
	{name: rival, sets: []string{soonDeleted}},
	{name: rivalFlushed, program: "kafka", sets: []string{soonDeleted, "log.flush.interval.messages=1"}},
	{name: ours, sets: []string{soonDeleted}},
	{name: oursAsync, program: "millrace", sets: []string{soonDeleted, "log.durability=async"}},
	{name: floor},
	{name: floorAsync, program: "floor", sets: []string{"io=slabs"}},
	{name: rocketmq, client: rocketClient, renewed: true},
	{name: nats, client: natsClient},
	{name: natsAlways, program: "nats", client: natsClient, sets: []string{"sync_interval=always"}},
	{name: rabbit, client: rabbitClient},
	{name: rabbitStream, program: "rabbitmq", client: streamClient},
}

// the gives the known contenders with these
// names, in this order.
func the(names ...string) []contender {
	out := make([]contender, 0, len(names))
	for _, n := range names {
		i := slices.IndexFunc(known, func(c contender) bool { return c.name == n })
		out = append(out, known[i])
	}
	return out
}

// optional marks contenders as taking part on request only.
func optional(cs []contender) []contender {
	for i := range cs {
		cs[i].onRequest = true
	}
	return cs
}

// namesOf lists contenders, those on request left out if wanted.
func namesOf(cs []contender, byDefault bool) []string {
	var out []string
	for _, c := range cs {
		if !byDefault || !c.onRequest {
			out = append(out, c.name)
		}
	}
	return out
}

// pick takes the named ones out of all; the order is that of the names.
func pick(all []contender, names string) ([]contender, error) {
	var out []contender
	for n := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(c contender) bool { return c.name == n })
		if i < 0 {
			return nil, fmt.Errorf("--peers: %q is none of %v", n, namesOf(all, false))
		}
		out = append(out, all[i])
	}
	return out, nil
}
