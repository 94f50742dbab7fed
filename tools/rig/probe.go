package rig

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// probeEvery is how often a starting broker is asked whether it serves. Clients with
// their back-off would only find out tenths of a second later.
const probeEvery = 2 * time.Millisecond

// awaitServing returns when the broker answers the end offset of every partition of the
// topic, or, for an empty topic, ApiVersions.
func awaitServing(ctx context.Context, addr, topic string, partitions int) error {
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	for {
		err := serves(addr, topic, partitions)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s to serve: %w (last: %w)", addr, context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

// serves asks once.
func serves(addr, topic string, partitions int) error {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	version := kmsg.NewPtrApiVersionsRequest()
	version.Version = 0
	if err := RoundTrip(c, version, kmsg.NewPtrApiVersionsResponse()); err != nil {
		return err
	}
	if topic == "" {
		return nil
	}
	req, resp := kmsg.NewPtrListOffsetsRequest(), kmsg.NewPtrListOffsetsResponse()
	req.Version, resp.Version, req.ReplicaID = 1, 1, -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for i := range partitions {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(i), -1
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = append(req.Topics, t)
	if err := RoundTrip(c, req, resp); err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("end offset of %s-%d: %w", topic, p.Partition, err)
			}
		}
	}
	return nil
}

// RoundTrip sends a request of a version with the plain (not flexible) response header and reads its response.
func RoundTrip(c net.Conn, req kmsg.Request, resp kmsg.Response) error {
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("crash")).AppendRequest(nil, req, 1)
	if _, err := c.Write(frame); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	n := int(binary.BigEndian.Uint32(head[:])) - 4
	if n < 0 || n > 1<<20 {
		return fmt.Errorf("response of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c, body); err != nil {
		return err
	}
	return resp.ReadFrom(body)
}
