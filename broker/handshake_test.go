package broker_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"millrace/broker/brokertest"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestUnknownApiVersionsVersionGetsAVersion0Answer(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = 99
	c.Send(req)
	b, err := c.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	want := []byte{0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5}
	if !bytes.Equal(b[4:], want) {
		t.Fatalf("answer % x, want % x", b[4:], want)
	}
}

func TestApiVersionsAnnouncesWhatIsServed(t *testing.T) {
	c := brokertest.Start(t, nil).Dial(t)
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = 3, "test", "1.0"
	announced := map[int16][2]int16{}
	for _, k := range c.Do(req).(*kmsg.ApiVersionsResponse).ApiKeys {
		announced[k.ApiKey] = [2]int16{k.MinVersion, k.MaxVersion}
	}
	if announced[0] != [2]int16{0, 13} {
		t.Errorf("Produce %v, want 0-13: a higher floor makes librdkafka give up compression", announced[0])
	}
	if announced[1] != [2]int16{4, 18} {
		t.Errorf("Fetch %v, want 4-18", announced[1])
	}
	if _, ok := announced[24]; ok {
		t.Error("AddPartitionsToTxn is announced and not served")
	}
	for _, name := range []string{"", "bad name", "-x"} {
		req.ClientSoftwareName = name
		if r := c.Do(req).(*kmsg.ApiVersionsResponse); r.ErrorCode != kerr.InvalidRequest.Code {
			t.Errorf("software name %q: error %d, want %d", name, r.ErrorCode, kerr.InvalidRequest.Code)
		}
	}
}

func TestWhatCannotBeServedClosesOnlyItsConnection(t *testing.T) {
	n := brokertest.Start(t, nil)
	frame := func(key, version int16, body ...byte) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(10+len(body)))
		b = binary.BigEndian.AppendUint16(b, uint16(key))
		b = binary.BigEndian.AppendUint16(b, uint16(version))
		b = append(b, 0, 0, 0, 1, 0xff, 0xff)
		return append(b, body...)
	}
	for name, raw := range map[string][]byte{
		"unknown key":                 frame(500, 0),
		"negative key":                frame(-1, 0),
		"an API that is not served":   frame(24, 0),
		"version above the range":     frame(3, 14, 0),
		"Produce before version 3":    frame(0, 2, 0, 0, 0, 0),
		"Fetch before version 4":      frame(1, 3, 0, 0, 0, 0),
		"Metadata with a lying count": frame(3, 1, 0x7f, 0xff, 0xff, 0xff),
		"Produce with a lying count":  frame(0, 3, 0xff, 0xff, 0, 1, 0, 0, 0, 1, 0x7f, 0xff, 0xff, 0xff),
		"empty frame":                 {0, 0, 0, 0},
		"negative length":             {0xff, 0xff, 0xff, 0xff},
		"absurd length":               {0x7f, 0xff, 0xff, 0xff, 0, 0},
		"HTTP":                        []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"TLS":                         {0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03},
	} {
		t.Run(name, func(t *testing.T) {
			c := n.Dial(t)
			c.SendRaw(raw)
			c.ExpectClosed()
		})
	}
	c := n.Dial(t)
	if r := c.Do(kmsg.NewPtrApiVersionsRequest()).(*kmsg.ApiVersionsResponse); r.ErrorCode != 0 {
		t.Fatalf("afterwards: error %d", r.ErrorCode)
	}
}
