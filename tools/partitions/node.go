package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/segment/batch"
	"millrace/tools/rig"
)

// node is the broker under test.
type node struct {
	*rig.Broker
	dir string
}

// requestLimit is how long a request may take.
const requestLimit = 2 * time.Minute

func topicName(i int) string { return fmt.Sprintf("topic-%05d", i) }

func (n *node) dial() (net.Conn, error) {
	c, err := net.DialTimeout("tcp", n.Addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return c, c.SetDeadline(time.Now().Add(requestLimit))
}

// partitionsPerRequest is Kafka's limit for one request.
const partitionsPerRequest = 10_000

// create makes topics, as many in one request as it takes.
func (n *node) create(topics, partitions int) (time.Duration, error) {
	c, err := n.dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	begin := time.Now()
	for i := 0; i < topics; {
		req, resp := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrCreateTopicsResponse()
		req.Version, resp.Version, req.TimeoutMillis = 4, 4, int32(requestLimit.Milliseconds())
		for count := 0; i < topics && count+partitions <= partitionsPerRequest; i, count = i+1, count+partitions {
			t := kmsg.NewCreateTopicsRequestTopic()
			t.Topic, t.NumPartitions, t.ReplicationFactor = topicName(i), int32(partitions), 1
			req.Topics = append(req.Topics, t)
		}
		if err := c.SetDeadline(time.Now().Add(requestLimit)); err != nil {
			return 0, err
		}
		if err := rig.RoundTrip(c, req, resp); err != nil {
			return 0, fmt.Errorf("create topics: %w", err)
		}
		for _, t := range resp.Topics {
			if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
				return 0, fmt.Errorf("create %s: %w", t.Topic, err)
			}
		}
	}
	return time.Since(begin), nil
}

// topicsPerProduce is how many topics one produce request is for.
const topicsPerProduce = 64

// write appends a batch of one record to the first partitions of each topic. round is how many are there already: the
// offset each must get.
func (n *node) write(topics, partitions int, round int64) (time.Duration, error) {
	c, err := n.dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	b := batch.NewBuilder()
	b.Add(time.Now().UnixMilli(), nil, bytes.Repeat([]byte("v"), 512))
	records, err := b.Build(nil)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	for first := 0; first < topics; first += topicsPerProduce {
		req, resp := kmsg.NewPtrProduceRequest(), kmsg.NewPtrProduceResponse()
		req.Version, resp.Version, req.Acks, req.TimeoutMillis = 7, 7, -1, 30_000
		for i := first; i < min(first+topicsPerProduce, topics); i++ {
			t := kmsg.NewProduceRequestTopic()
			t.Topic = topicName(i)
			for j := range partitions {
				p := kmsg.NewProduceRequestTopicPartition()
				p.Partition, p.Records = int32(j), records
				t.Partitions = append(t.Partitions, p)
			}
			req.Topics = append(req.Topics, t)
		}
		if err := rig.RoundTrip(c, req, resp); err != nil {
			return 0, fmt.Errorf("produce: %w", err)
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return 0, fmt.Errorf("produce to %s-%d: %w", t.Topic, p.Partition, err)
				}
				if p.BaseOffset != round {
					return 0, fmt.Errorf("a record of %s-%d got offset %d, it is number %d there", t.Topic, p.Partition, p.BaseOffset, round)
				}
			}
		}
	}
	return time.Since(begin), nil
}

// metadata asks for all topics, and meanwhile, on other connections that a loop serves, for ApiVersions. It returns how long
// that took and the longest of the others.
func (n *node) metadata(partitions int) (took, worst time.Duration, err error) {
	c, err := n.dial()
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	done := make(chan struct{})
	waits := make(chan time.Duration, 1)
	go func() { waits <- n.longestWait(done) }()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 1 // nil topics: all
	begin := time.Now()
	got, err := askMetadata(c, req)
	took = time.Since(begin)
	close(done)
	worst = <-waits
	if err == nil && got < partitions {
		err = fmt.Errorf("metadata of %d partitions, there are %d", got, partitions)
	}
	return took, worst, err
}

// longestWait asks for ApiVersions on a few connections until done.
func (n *node) longestWait(done <-chan struct{}) (worst time.Duration) {
	var conns []net.Conn
	for range 8 {
		if c, err := n.dial(); err == nil {
			defer c.Close()
			conns = append(conns, c)
		}
	}
	for {
		for _, c := range conns {
			begin := time.Now()
			req := kmsg.NewPtrApiVersionsRequest()
			if rig.RoundTrip(c, req, kmsg.NewPtrApiVersionsResponse()) == nil {
				worst = max(worst, time.Since(begin))
			}
		}
		select {
		case <-done:
			return worst
		default:
		}
	}
}

// resources reports what the process holds.
func (n *node) resources(r *report, when string) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID()))
	if err != nil {
		return err
	}
	var rss int
	_, field, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Sscan(field, &rss); err != nil {
		return fmt.Errorf("resident memory: %w", err)
	}
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.PID()))
	if err != nil {
		return err
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", n.PID()))
	if err != nil {
		return err
	}
	r.number("RSS "+when, rss*1024/1e6, rssLimit, " MB")
	r.number("open files "+when, len(fds), filesLimit, "")
	r.number("maps "+when, bytes.Count(maps, []byte("\n")), 0, "")
	return nil
}
