package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// askMetadata sends a metadata request, whose response may be long, and counts the partitions in it.
func askMetadata(c net.Conn, req *kmsg.MetadataRequest) (partitions int, err error) {
	if _, err := c.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("partitions")).AppendRequest(nil, req, 1)); err != nil {
		return 0, err
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, err
	}
	n := int64(binary.BigEndian.Uint32(head[:])) - 4
	if n < 0 || n > 1<<30 {
		return 0, fmt.Errorf("response of %d bytes", n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c, body); err != nil {
		return 0, err
	}
	resp := kmsg.NewPtrMetadataResponse()
	resp.Version = req.Version
	if err := resp.ReadFrom(body); err != nil {
		return 0, err
	}
	for _, t := range resp.Topics {
		partitions += len(t.Partitions)
	}
	return partitions, nil
}
