package main

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOneRecordIsAWholeBatchWithTheRightLengthsAndCRC(t *testing.T) {
	for _, size := range []int{0, 1, 60, 1024, 100_000} {
		value := bytes.Repeat([]byte{'v'}, size)
		raw := oneRecord(value)
		var b kmsg.RecordBatch
		if err := b.ReadFrom(raw); err != nil {
			t.Fatal(err)
		}
		if int(b.Length)+12 != len(raw) || uint32(b.CRC) != crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)) {
			t.Fatalf("%d bytes: length %d of %d, CRC %08x", size, b.Length, len(raw), b.CRC)
		}
		var r kmsg.Record
		if err := r.ReadFrom(b.Records); err != nil {
			t.Fatal(err)
		}
		length, n := binary.Varint(b.Records)
		if !bytes.Equal(r.Value, value) || int(length)+n != len(b.Records) {
			t.Fatalf("%d bytes: value of %d bytes, record says %d of %d", size, len(r.Value), length, len(b.Records)-n)
		}
	}
}

// TestAWorkerCountsConnectionsThatAreGone runs a worker against a server that answers
// ApiVersions on every connection once, and only on every other one again.
func TestAWorkerCountsConnectionsThatAreGone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerVersions(c, 1+i%2)
		}
	}()
	o, err := parseOptions([]string{"--worker", "--addr", l.Addr().String(), "--idle", "20"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := o.hold(strings.NewReader("check\n"), &out); err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(out.String()); len(got) != 2 || got[0] != "20" || got[1] != "10" {
		t.Fatalf("the worker says %v, want 20 and 10", got)
	}
}

func answerVersions(c net.Conn, times int) {
	defer c.Close()
	for range times {
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(head[:]))
		if _, err := io.ReadFull(c, frame); err != nil {
			return
		}
		resp := kmsg.NewPtrApiVersionsResponse()
		resp.ApiKeys = append(resp.ApiKeys, kmsg.NewApiVersionsResponseApiKey())
		b := append(make([]byte, 4), frame[4:8]...)
		b = resp.AppendTo(b)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

func TestIdleConnectionsComeFromSeveralAddresses(t *testing.T) {
	o, err := parseOptions([]string{"--sources", "3"})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for i := range 30 {
		seen[o.source(i)]++
	}
	if len(seen) != 3 || seen["127.0.0.2"] != 10 {
		t.Errorf("sources are %v", seen)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--idle", "-1"}, {"--sources", "0"}, {"--sources", "251"}, {"--per-worker", "0"}} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}
