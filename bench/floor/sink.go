package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"strconv"
	"strings"

	"github.com/panjf2000/gnet/v2"
	"github.com/panjf2000/gnet/v2/pkg/logging"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

const (
	// directRead is what must be missing of a frame to read it past gnet's own buffer.
	directRead = 16 << 10
	// readTurn is what one connection may read directly before others have a turn.
	readTurn = 2 << 20
)

// sink acknowledges Produce requests when they are in a slab. Its event loops own their
// connections; slabs and the names of topics are under locks of their own.
type sink struct {
	gnet.BuiltinEventEngine
	names  *server
	slabs  *slabs
	booted chan gnet.Engine
}

// sinkConn is the frame that a connection is in the middle of.
type sinkConn struct {
	prefix  [4]byte
	prefixN int
	frame   []byte // nil between frames
	fill    int
	slab    *slab
}

// newSink makes a sink that listens on addr and writes to path (nothing if that is empty).
func newSink(addr, path string) (*sink, error) {
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", addr, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", addr, err)
	}
	sl, err := newSlabs(path)
	if err != nil {
		return nil, err
	}
	names := newServer("", false)
	names.bare, names.host, names.port = true, host, int32(port)
	return &sink{names: names, slabs: sl, booted: make(chan gnet.Engine, 1)}, nil
}

// serveSink runs a sink until the process ends.
func serveSink(addr, path string) error {
	s, err := newSink(addr, path)
	if err != nil {
		return err
	}
	return s.run(addr)
}

func (s *sink) run(addr string) error {
	return gnet.Run(s, "tcp://"+addr, gnet.WithMulticore(true), gnet.WithLogLevel(logging.ErrorLevel))
}

func (s *sink) stop(ctx context.Context) error { return (<-s.booted).Stop(ctx) }

func (s *sink) OnBoot(e gnet.Engine) gnet.Action {
	s.booted <- e
	return gnet.None
}

func (s *sink) OnOpen(c gnet.Conn) ([]byte, gnet.Action) {
	c.SetContext(new(sinkConn))
	return nil, gnet.None
}

func (s *sink) OnClose(c gnet.Conn, _ error) gnet.Action {
	if in := c.Context().(*sinkConn); in.slab != nil {
		s.slabs.release(in.slab)
	}
	return gnet.None
}

func (s *sink) OnTraffic(c gnet.Conn) gnet.Action {
	data, err := c.Next(-1)
	if err == nil {
		err = s.consume(c, c.Context().(*sinkConn), data)
	}
	if err == nil {
		return gnet.None
	}
	if !errors.Is(err, io.EOF) {
		log.Printf("connection %v: %v", c.RemoteAddr(), err)
	}
	return gnet.Close
}

// consume takes what gnet has read, and the rest of a large frame from the socket.
func (s *sink) consume(c gnet.Conn, in *sinkConn, data []byte) error {
	for len(data) > 0 {
		if in.frame == nil {
			n := copy(in.prefix[in.prefixN:], data)
			in.prefixN += n
			data = data[n:]
			if in.prefixN < len(in.prefix) {
				return nil
			}
			size := binary.BigEndian.Uint32(in.prefix[:])
			if size < 8 || size > maxFrame {
				return fmt.Errorf("frame of %d bytes", size)
			}
			var err error
			if in.slab, in.frame, err = s.slabs.reserve(int(size)); err != nil {
				return err
			}
			in.prefixN, in.fill = 0, 0
		}
		n := copy(in.frame[in.fill:], data)
		in.fill += n
		data = data[n:]
		if err := s.complete(c, in); err != nil {
			return err
		}
	}
	for turn := 0; len(in.frame)-in.fill >= directRead && turn < readTurn; {
		n, err := unix.Read(c.Fd(), in.frame[in.fill:])
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case n == 0:
			return io.EOF
		}
		turn += n
		in.fill += n
		if err := s.complete(c, in); err != nil {
			return err
		}
	}
	return nil
}

// complete answers the frame if all of it is there.
func (s *sink) complete(c gnet.Conn, in *sinkConn) error {
	if in.frame == nil || in.fill < len(in.frame) {
		return nil
	}
	b, err := s.reply(in.frame)
	s.slabs.release(in.slab)
	in.frame, in.slab, in.fill = nil, nil, 0
	if err != nil || b == nil {
		return err
	}
	_, err = c.Write(b)
	return err
}

// reply is the encoded answer to a frame, nil for none.
func (s *sink) reply(frame []byte) ([]byte, error) {
	r, req, err := parse(frame)
	if err != nil {
		return nil, err
	}
	switch req := req.(type) {
	case *kmsg.FetchRequest:
		return nil, errors.New("a sink serves no Fetch")
	case *kmsg.ProduceRequest:
		if req.Acks == 0 {
			return nil, nil
		}
		return encode(r.correlation, s.accept(req)), nil
	}
	return encode(r.correlation, s.names.control(r, req)), nil
}

// accept acknowledges every batch of a partition that exists. Offsets mean nothing here.
func (s *sink) accept(req *kmsg.ProduceRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	for _, rt := range req.Topics {
		t := kmsg.NewProduceResponseTopic()
		t.Topic = strings.Clone(rt.Topic)
		for _, rp := range rt.Partitions {
			p := kmsg.NewProduceResponseTopicPartition()
			p.Partition = rp.Partition
			if s.names.partition(rt.Topic, rp.Partition) == nil {
				p.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			t.Partitions = append(t.Partitions, p)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
