package main

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"
)

// piece is a part of a Fetch response: encoded bytes, then a range of a file.
type piece struct {
	head      []byte
	part      *partition
	pos, size int64
}

// fetch answers when there are enough bytes or the time is up, by sendfile.
func (s *server) fetch(correlation int32, req *kmsg.FetchRequest) reply {
	for i := range req.Topics { // the names are views into the frame, and that is about to be reused
		req.Topics[i].Topic = strings.Clone(req.Topics[i].Topic)
	}
	return func(c *net.TCPConn) error {
		deadline := time.NewTimer(time.Duration(req.MaxWaitMillis) * time.Millisecond)
		defer deadline.Stop()
		for {
			growth := s.growth()
			pieces, bytes := s.slice(correlation, req)
			if bytes >= int64(req.MinBytes) {
				return send(c, pieces)
			}
			select {
			case <-growth:
			case <-deadline.C:
				return send(c, pieces)
			}
		}
	}
}

// slice lays the response out (versions 4 to 11, always as a new full answer, for there
// are no fetch sessions) and counts the bytes of batches in it.
func (s *server) slice(correlation int32, req *kmsg.FetchRequest) (pieces []piece, bytes int64) {
	be := binary.BigEndian
	b := be.AppendUint32(make([]byte, 4, 512), uint32(correlation)) // the first 4 bytes become the frame's length
	b = be.AppendUint32(b, 0)                                       // throttle time
	if req.Version >= 7 {
		b = be.AppendUint16(b, 0) // error code
		b = be.AppendUint32(b, 0) // session id
	}
	b = be.AppendUint32(b, uint32(len(req.Topics)))
	total := int64(0)
	for _, t := range req.Topics {
		b = be.AppendUint16(b, uint16(len(t.Topic)))
		b = append(b, t.Topic...)
		b = be.AppendUint32(b, uint32(len(t.Partitions)))
		for _, rp := range t.Partitions {
			var pos, size, end int64
			code := kerr.UnknownTopicOrPartition.Code
			part := s.partition(t.Topic, rp.Partition)
			if part != nil {
				code = 0
				pos, size, end = part.read(rp.FetchOffset, min(int64(rp.PartitionMaxBytes), int64(req.MaxBytes)-bytes))
				if bytes > 0 && bytes+size > int64(req.MaxBytes) {
					size = 0 // only the first partition may exceed the limit
				}
			}
			b = be.AppendUint32(b, uint32(rp.Partition))
			b = be.AppendUint16(b, uint16(code))
			b = be.AppendUint64(b, uint64(end)) // high watermark
			b = be.AppendUint64(b, uint64(end)) // last stable offset
			if req.Version >= 5 {
				b = be.AppendUint64(b, 0) // log start offset
			}
			b = be.AppendUint32(b, 0xffffffff) // no aborted transactions
			if req.Version >= 11 {
				b = be.AppendUint32(b, 0xffffffff) // no preferred read replica
			}
			b = be.AppendUint32(b, uint32(size))
			if size > 0 {
				total += int64(len(b)) + size
				bytes += size
				pieces = append(pieces, piece{head: b, part: part, pos: pos, size: size})
				b = nil
			}
		}
	}
	if b != nil {
		total += int64(len(b))
		pieces = append(pieces, piece{head: b})
	}
	be.PutUint32(pieces[0].head, uint32(total-4))
	return pieces, bytes
}

// send writes the pieces to the socket: heads held back for the file bytes that follow.
func send(c *net.TCPConn, pieces []piece) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	for _, p := range pieces {
		flags := unix.MSG_NOSIGNAL
		if p.size > 0 {
			flags |= unix.MSG_MORE
		}
		head := p.head
		err := drive(raw, func(fd int) (bool, error) {
			n, err := unix.SendmsgN(fd, head, nil, nil, flags)
			head = head[max(n, 0):]
			return len(head) == 0, err
		})
		if err != nil {
			return err
		}
		if p.size == 0 {
			continue
		}
		if err := sendRange(raw, p); err != nil {
			return err
		}
	}
	return nil
}

// sendRange sends the piece's part of the file by sendfile.
func sendRange(raw syscall.RawConn, p piece) error {
	p.part.sending.RLock()
	defer p.part.sending.RUnlock()
	pos, left := p.pos, p.size
	return drive(raw, func(fd int) (bool, error) {
		n, err := unix.Sendfile(fd, int(p.part.in.Fd()), &pos, int(left))
		if n == 0 && err == nil {
			return true, io.ErrUnexpectedEOF
		}
		left -= int64(max(n, 0))
		return left == 0, err
	})
}

// drive calls step until it is done, waiting for the socket whenever it is full.
func drive(raw syscall.RawConn, step func(fd int) (done bool, err error)) error {
	var failed error
	err := raw.Write(func(fd uintptr) bool {
		for {
			done, err := step(int(fd))
			switch {
			case errors.Is(err, unix.EAGAIN):
				return false
			case errors.Is(err, unix.EINTR):
			case err != nil:
				failed = err
				return true
			case done:
				return true
			}
		}
	})
	return errors.Join(err, failed)
}
