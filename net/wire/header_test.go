package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

func TestFlexibleVersionsAreThoseOfTheMessageDefinitions(t *testing.T) {
	for key := int16(0); key <= MaxAPIKey; key++ {
		req := kmsg.RequestForKey(key)
		if req == nil {
			t.Fatalf("kmsg does not know api %d", key)
		}
		for v := int16(0); v <= req.MaxVersion(); v++ {
			req.SetVersion(v)
			if got := Flexible(key, v); got != req.IsFlexible() {
				t.Errorf("api %d version %d: flexible %v, want %v", key, v, got, req.IsFlexible())
			}
			want := req.IsFlexible() && key != KeyApiVersions
			if got := FlexibleResponse(key, v); got != want {
				t.Errorf("api %d version %d: flexible response header %v, want %v", key, v, got, want)
			}
		}
	}
	for _, key := range []int16{-1, MaxAPIKey + 1, 1000} {
		if Flexible(key, 1) {
			t.Errorf("unknown api %d is flexible", key)
		}
	}
	if !Flexible(KeyApiVersions, 99) || FlexibleResponse(KeyApiVersions, 99) {
		t.Error("an ApiVersions request that is too new has a flexible header and gets a plain one back")
	}
}

func TestHeaderOfEveryRequestIsWhatClientsSend(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.Int16Range(0, MaxAPIKey).Draw(rt, "key")
		req := kmsg.RequestForKey(key)
		req.SetVersion(rapid.Int16Range(0, req.MaxVersion()).Draw(rt, "version"))
		correlation := rapid.Int32().Draw(rt, "correlation")
		opts := []kmsg.RequestFormatterOpt(nil)
		id := rapid.OneOf(rapid.Just(""), rapid.StringN(1, 300, 900)).Draw(rt, "client id")
		withID := rapid.Bool().Draw(rt, "with client id")
		if withID {
			opts = append(opts, kmsg.FormatterClientID(id))
		}
		b := kmsg.NewRequestFormatter(opts...).AppendRequest(nil, req, correlation)
		h, body, err := ParseRequestHeader(b[4:])
		if key == 7 && req.GetVersion() == 0 {
			return // ControlledShutdown v0 has no client id; it is gone from Kafka
		}
		if err != nil {
			rt.Fatal(err)
		}
		if h.APIKey != key || h.APIVersion != req.GetVersion() || h.CorrelationID != correlation {
			rt.Fatalf("header %+v of api %d version %d correlation %d", h, key, req.GetVersion(), correlation)
		}
		if withID != (h.ClientID != nil) || withID && string(h.ClientID) != id {
			rt.Fatalf("client id %q, want %q, %v", h.ClientID, id, withID)
		}
		if want := req.AppendTo(nil); !bytes.Equal(body, want) {
			rt.Fatalf("body of %d bytes, want %d", len(body), len(want))
		}
	})
}

func TestHeaderWithTagsIsSkipped(t *testing.T) {
	b := []byte{0, KeyProduce, 0, 9, 0, 0, 0, 7, 0xff, 0xff, 2, 5, 3, 'a', 'b', 'c', 6, 0, 'x'}
	h, body, err := ParseRequestHeader(b)
	if err != nil || h.ClientID != nil || string(body) != "x" {
		t.Fatalf("%+v %q %v", h, body, err)
	}
}

func TestBadHeadersAreErrors(t *testing.T) {
	for name, b := range map[string][]byte{
		"empty":                   {},
		"short":                   {0, 0, 0, 9, 0, 0, 0, 0, 0},
		"client id is too long":   {0, 1, 0, 4, 0, 0, 0, 0, 0, 5, 'a'},
		"client id is negative":   {0, 1, 0, 4, 0, 0, 0, 0, 0xff, 0xfe},
		"no tags":                 {0, 0, 0, 9, 0, 0, 0, 0, 0xff, 0xff},
		"tag exceeds the request": {0, 0, 0, 9, 0, 0, 0, 0, 0xff, 0xff, 1, 0, 200, 1},
		"endless varint":          {0, 0, 0, 9, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"tags without end":        {0, 0, 0, 9, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0},
	} {
		if _, _, err := ParseRequestHeader(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := ParseRequestHeader(nil); !errors.Is(err, ErrTruncated) {
		t.Errorf("empty frame: %v", err)
	}
}

func TestResponseFrame(t *testing.T) {
	for _, flexible := range []bool{false, true} {
		b := BeginResponse([]byte("old content"), 42, flexible)
		b = append(b, "body"...)
		FinishResponse(b, 100)
		r := kbin.Reader{Src: b}
		if n := r.Int32(); int(n) != len(b)-4+100 {
			t.Errorf("size %d of %d bytes and 100 more", n, len(b))
		}
		if id := r.Int32(); id != 42 {
			t.Errorf("correlation id %d", id)
		}
		if flexible && r.Uvarint() != 0 {
			t.Error("tags in the header")
		}
		if string(r.Src) != "body" {
			t.Errorf("body %q", r.Src)
		}
	}
}

func FuzzParseRequestHeader(f *testing.F) {
	for _, key := range []int16{0, 1, 3, 17, 18, 68} {
		req := kmsg.RequestForKey(key)
		req.SetVersion(req.MaxVersion())
		f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("fuzz")).AppendRequest(nil, req, 1)[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, body, err := ParseRequestHeader(b)
		if err != nil {
			return
		}
		if len(h.ClientID)+len(body) > len(b)-10 {
			t.Fatalf("views of %d bytes in a frame of %d", len(h.ClientID)+len(body), len(b))
		}
		if h.APIKey != int16(binary.BigEndian.Uint16(b)) {
			t.Fatal("wrong key")
		}
	})
}
