package data

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"millrace/net/server"
)

func TestAFaultInAFetchEndsThatFetchOnly(t *testing.T) {
	var said bytes.Buffer
	func() {
		defer contain(slog.New(slog.NewTextHandler(&said, nil)), &server.Request{})
		panic("broken invariant")
	}()
	if !strings.Contains(said.String(), "broken invariant") {
		t.Fatalf("log %q does not tell the fault", said.String())
	}
}
