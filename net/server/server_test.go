package server

import (
	"bytes"
	"testing"
)

func TestEchoesFramesOfEachSize(t *testing.T) {
	s := startServer(t, Options{Handler: echo})
	c := dial(t, s)
	for i, n := range []int{0, 1, 100, 501, 502, 4096, 64 << 10, 64<<10 + 1, 1 << 20, 3 << 20, 9 << 20} {
		body := bytes.Repeat([]byte{byte(i + 1)}, n)
		go c.send(requestFrame(0, int32(i), body))
		c.want(int32(i), body)
	}
	st := s.Stats()
	if st.Requests != 11 || st.InFlight != 0 || st.InputBytes != 0 || st.Connections != 1 {
		t.Fatalf("stats %+v", st)
	}
}
