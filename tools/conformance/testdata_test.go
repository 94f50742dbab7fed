package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"millrace/net/wire"
)

// The frames of real clients are the seeds of other packages' fuzz targets; here
// they must be what their names say.
func TestFramesOfClientsDecode(t *testing.T) {
	paths, err := filepath.Glob("testdata/frames/*")
	if err != nil || len(paths) < 100 {
		t.Fatalf("%d frames, %v", len(paths), err)
	}
	for _, path := range paths {
		frame, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		key, version := int16(binary.BigEndian.Uint16(frame)), int16(binary.BigEndian.Uint16(frame[2:]))
		name := filepath.Base(path)
		if want := fmt.Sprintf("-%s-v%d", kmsg.NameForKey(key), version); len(name) <= len(want) || name[len(name)-len(want):] != want {
			t.Errorf("%s holds key %d version %d", name, key, version)
		}
		header, body, err := wire.ParseRequestHeader(frame)
		if err != nil || header.APIKey != key || header.APIVersion != version {
			t.Errorf("%s: header %+v, %v", name, header, err)
			continue
		}
		decodes(t, name, header, body)
	}
}

// decodes holds body against kmsg and, for the requests it has a decoder of its own
// for, net/wire.
func decodes(t *testing.T, name string, header wire.RequestHeader, body []byte) {
	req := kmsg.RequestForKey(header.APIKey)
	req.SetVersion(header.APIVersion)
	if err := req.ReadFrom(body); err != nil {
		t.Errorf("%s: kmsg: %v", name, err)
	}
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		var own wire.ProduceRequest
		if err := own.Decode(header.APIVersion, body); err != nil {
			t.Errorf("%s: net/wire: %v", name, err)
		} else if len(own.Topics) != len(req.Topics) {
			t.Errorf("%s: net/wire has %d topics, kmsg %d", name, len(own.Topics), len(req.Topics))
		}
	case *kmsg.FetchRequest:
		var own wire.FetchRequest
		if err := own.Decode(header.APIVersion, body); err != nil {
			t.Errorf("%s: net/wire: %v", name, err)
		} else if len(own.Topics) != len(req.Topics) {
			t.Errorf("%s: net/wire has %d topics, kmsg %d", name, len(own.Topics), len(req.Topics))
		}
	}
}
