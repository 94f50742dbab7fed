package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// maxFrame is the largest request in bytes, as Kafka's default.
	maxFrame = 100 << 20
	// pipelined is how many answers of a connection may be outstanding before the
	// next request is read.
	pipelined = 64
)

// reply is one answer that is due: it waits for what it must, then writes to the socket.
type reply func(*net.TCPConn) error

// frames recycles request bodies; a body is free once its batches are in a write buffer.
var frames sync.Pool

// serveConn reads requests until the connection ends.
func (s *server) serveConn(c *net.TCPConn) {
	replies := make(chan reply, pipelined)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		defer c.Close()
		for r := range replies {
			if err := r(c); err != nil {
				return
			}
		}
	}()
	if err := s.readRequests(c, replies, gone); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		log.Printf("connection %v: %v", c.RemoteAddr(), err)
	}
	close(replies)
}

func (s *server) readRequests(c *net.TCPConn, replies chan<- reply, gone <-chan struct{}) error {
	in := bufio.NewReaderSize(c, 4096)
	var length [4]byte
	for {
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(length[:])
		if n < 8 || n > maxFrame {
			return fmt.Errorf("frame of %d bytes", n)
		}
		frame := newFrame(int(n))
		if _, err := io.ReadFull(in, frame); err != nil {
			return err
		}
		r, err := s.handle(frame)
		frames.Put(&frame)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		select {
		case replies <- r:
		case <-gone:
			return net.ErrClosed
		}
	}
}

func newFrame(n int) []byte {
	if f, ok := frames.Get().(*[]byte); ok && cap(*f) >= n {
		return (*f)[:n]
	}
	return make([]byte, n, max(n, 64<<10))
}

// request is a request header, and the body still to be read.
type request struct {
	key, version int16
	correlation  int32
	body         []byte
}

// parseHeader reads a request header of version 1 or, for flexible requests, 2.
func parseHeader(frame []byte) (request, error) {
	r := request{
		key:         int16(binary.BigEndian.Uint16(frame)),
		version:     int16(binary.BigEndian.Uint16(frame[2:])),
		correlation: int32(binary.BigEndian.Uint32(frame[4:])),
		body:        frame[8:],
	}
	if len(r.body) < 2 {
		return r, io.ErrUnexpectedEOF
	}
	client := max(int(int16(binary.BigEndian.Uint16(r.body))), 0)
	if r.body = r.body[2:]; len(r.body) < client {
		return r, io.ErrUnexpectedEOF
	}
	r.body = r.body[client:]
	if req := kmsg.RequestForKey(r.key); req != nil {
		if req.SetVersion(r.version); req.IsFlexible() {
			if len(r.body) == 0 || r.body[0] != 0 {
				return r, errors.New("tagged fields in a request header")
			}
			r.body = r.body[1:]
		}
	}
	return r, nil
}

// answer is the reply that kmsg encodes.
func answer(correlation int32, resp kmsg.Response) reply {
	return func(c *net.TCPConn) error {
		_, err := c.Write(encode(correlation, resp))
		return err
	}
}

// encode frames a response.
func encode(correlation int32, resp kmsg.Response) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 4, 256), uint32(correlation))
	if resp.IsFlexible() && resp.Key() != apiVersionsKey {
		b = append(b, 0)
	}
	b = resp.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
