package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerWithin is how long the broker may take for one answer.
const answerWithin = 30 * time.Second

// maxResponse bounds what a response may claim to be, in bytes.
const maxResponse = 16 << 20

// dialFrom connects from a given address, or from any if it is empty.
func dialFrom(source, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: answerWithin}
	if source != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(source)}
	}
	return d.Dial("tcp", addr)
}

// ask sends one request and reads its response. Only versions with plain headers are
// used, or, for flexible ones, responses whose header has no tagged fields.
func ask(c net.Conn, req kmsg.Request, resp kmsg.Response) error {
	if err := c.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return err
	}
	resp.SetVersion(req.GetVersion())
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("conns")).AppendRequest(nil, req, 7)
	if _, err := c.Write(frame); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return err
	}
	n := int(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if n < 0 || n > maxResponse {
		return fmt.Errorf("response of %d bytes", n)
	}
	if id := binary.BigEndian.Uint32(head[4:]); id != 7 {
		return fmt.Errorf("response to request %d", id)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c, body); err != nil {
		return err
	}
	return resp.ReadFrom(body)
}

// askVersions is the exchange by which an idle connection shows that it is alive.
func askVersions(c net.Conn) error {
	req, resp := kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrApiVersionsResponse()
	if err := ask(c, req, resp); err != nil {
		return err
	}
	if resp.ErrorCode != 0 || len(resp.ApiKeys) == 0 {
		return fmt.Errorf("ApiVersions: error %d, %d keys", resp.ErrorCode, len(resp.ApiKeys))
	}
	return nil
}

// oneRecord is a batch of one record with this value.
func oneRecord(value []byte) []byte {
	rec := kmsg.NewRecord()
	rec.Value = value
	body := rec.AppendTo(nil) // the length is a varint in front, one byte as it is 0
	rec.Length = int32(len(body) - 1)
	now := time.Now().UnixMilli()
	b := kmsg.NewRecordBatch()
	b.PartitionLeaderEpoch, b.Magic = -1, 2
	b.FirstTimestamp, b.MaxTimestamp = now, now
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1
	b.NumRecords, b.Records = 1, rec.AppendTo(nil)
	raw := b.AppendTo(nil)
	const afterLength, crcAt, afterCRC = 12, 17, 21
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-afterLength))
	binary.BigEndian.PutUint32(raw[crcAt:], crc32.Checksum(raw[afterCRC:], crc32.MakeTable(crc32.Castagnoli)))
	return raw
}
