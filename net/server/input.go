package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"millrace/net/wire"
)

// input assembles frames. What gnet read is taken whole each time: frames that are
// complete in it are begun from there, the start of one more goes to frame, and the
// rest of a large one is read into frame directly.
type input struct {
	prefix  [4]byte // the length, as far as it has arrived
	prefixN int
	need    int       // length of the frame being assembled; 0 between frames
	fill    int       // bytes of it that are in frame
	frame   *buffer   // nil until the first byte is there
	charged int       // bytes charged for frame
	began   time.Time // when the first byte of the prefix came
	rest    *buffer   // input that waits for the connection to be resumed
	restN   int
}

const (
	prefixBytes = 4
	// directRead is what must be missing of a frame to read it past gnet. Below that
	// gnet's read, which may bring the next frame too, is as good.
	directRead = 16 << 10
	// readTurn is what one connection may read directly before others have a turn.
	readTurn = 2 << 20
)

var (
	errFrame = errors.New("frame refused")
	errEOF   = errors.New("client closed")
	errShed  = errors.New("memory for requests is exhausted")
)

// between reports whether no frame has begun to arrive.
func (in *input) between() bool { return in.need == 0 && in.prefixN == 0 }

// consume takes data that arrived on c. It begins each frame that is complete and
// keeps the rest. An error means that the connection is to be closed.
func (l *loop) consume(c *Conn, data []byte) error {
	in := &c.in
	for len(data) > 0 {
		if in.between() {
			if l.overBudget(c) {
				in.hold(data)
				return l.pause(c)
			}
			in.began = l.now
		}
		if in.need == 0 {
			n := copy(in.prefix[in.prefixN:], data)
			in.prefixN += n
			data = data[n:]
			if in.prefixN < prefixBytes {
				return nil
			}
			if err := l.frameLength(c, data); err != nil {
				return err
			}
		}
		rest, err := l.frameBytes(c, data)
		if err != nil {
			return err
		}
		data = rest
	}
	// With nothing of the frame there yet, nothing is allocated for it.
	if in.fill > 0 && in.need-in.fill >= directRead {
		return l.readDirect(c)
	}
	return nil
}

// frameLength judges the length prefix, before anything is allocated by it. data is
// what follows it.
func (l *loop) frameLength(c *Conn, data []byte) error {
	in := &c.in
	n := int(int32(binary.BigEndian.Uint32(in.prefix[:])))
	switch {
	case n <= 0:
		l.n.malformed.Add(1)
	case n > l.s.o.MaxFrameBytes:
		l.n.tooLarge.Add(1)
	default:
		in.need, in.fill, in.prefixN = n, 0, 0
		return nil
	}
	first := append(in.prefix[:], data[:min(len(data), 12)]...)
	l.s.hint(c, first, fmt.Sprintf("frame length %d, limit %d", n, l.s.o.MaxFrameBytes))
	return errFrame
}

// keyAllowed applies the lower limit of requests that are not Produce as soon as the
// API key can be read: what they hold is decoded into structs several times its size.
func (l *loop) keyAllowed(c *Conn, frame []byte) error {
	if c.in.need <= l.s.o.MaxControlBytes {
		return nil
	}
	key := int16(binary.BigEndian.Uint16(frame))
	if key == wire.KeyProduce {
		return nil
	}
	l.n.tooLarge.Add(1)
	l.s.hint(c, frame[:min(len(frame), 16)], fmt.Sprintf("request of %d bytes of api %d, limit %d", c.in.need, key, l.s.o.MaxControlBytes))
	return errFrame
}

// frameBytes adds data to the frame and begins it when it is complete; rest is what
// comes after the frame.
func (l *loop) frameBytes(c *Conn, data []byte) (rest []byte, err error) {
	in := &c.in
	if in.fill == 0 && len(data) >= in.need {
		return data[in.need:], l.beginCopy(c, data[:in.need])
	}
	n := min(in.need-in.fill, len(data))
	if n == 0 {
		return data, nil
	}
	if err := l.growFrame(c, in.fill+n); err != nil {
		return nil, err
	}
	copy(in.frame.b[in.fill:], data[:n])
	before := in.fill
	in.fill += n
	return data[n:], l.advance(c, before)
}

// advance goes on after the frame has grown from before bytes to in.fill.
func (l *loop) advance(c *Conn, before int) error {
	in := &c.in
	if before < 2 && in.fill >= 2 {
		if err := l.keyAllowed(c, in.frame.b[:in.fill]); err != nil {
			return err
		}
	}
	if in.fill < in.need {
		return nil
	}
	r := newRequest(c, l.now)
	r.frame, r.charge = in.frame, in.charged
	frame := in.frame.b[:in.need]
	in.frame, in.charged, in.need, in.fill = nil, 0, 0, 0
	return c.begin(r, frame)
}

// beginCopy begins a frame that is complete in gnet's buffer, from a copy: the buffer
// is the loop's, and used again by the next read.
func (l *loop) beginCopy(c *Conn, frame []byte) error {
	in := &c.in
	if len(frame) >= 2 {
		if err := l.keyAllowed(c, frame); err != nil {
			return err
		}
	}
	in.need = 0
	r := newRequest(c, l.now)
	into := r.inline[:]
	if len(frame) > len(into) {
		r.frame = getBuffer(len(frame))
		into = r.frame.b
	}
	r.charge = max(len(frame), inlineFrame)
	l.s.charge(c, r.charge)
	return c.begin(r, into[:copy(into, frame)])
}

// growFrame makes room for size bytes of the frame, and for more if what is there
// warrants it.
func (l *loop) growFrame(c *Conn, size int) error {
	in := &c.in
	if in.frame != nil && len(in.frame.b) >= size {
		return nil
	}
	want := max(size, frameCapacity(in.need, size))
	if l.s.inputBytes.Load()+int64(want) > 2*l.s.o.MaxInputBytes && in.charged > 0 {
		// New frames are held back at MaxInputBytes; frames under way may take as
		// much again. Beyond that closing the connection is what keeps the others alive.
		l.n.shed.Add(1)
		return errShed
	}
	bigger := getBuffer(want)
	if in.frame != nil {
		copy(bigger.b, in.frame.b[:in.fill])
		in.frame.free()
	}
	in.frame = bigger
	l.s.charge(c, want-in.charged)
	in.charged = want
	return nil
}

// readDirect reads the rest of a large frame from the socket into its place, until
// the socket is empty, the frame complete, or the turn over; epoll is level-triggered
// and tells what is left.
func (l *loop) readDirect(c *Conn) error {
	in := &c.in
	for turn := 0; in.need > 0 && in.fill < in.need && turn < readTurn; {
		if err := l.growFrame(c, in.fill+1); err != nil {
			return err
		}
		into := in.frame.b[in.fill:min(len(in.frame.b), in.need)]
		n, err := unix.Read(c.fd, into)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case n == 0:
			return errEOF
		}
		l.n.bytesIn.Add(int64(n))
		turn += n
		before := in.fill
		in.fill += n
		if err := l.advance(c, before); err != nil {
			return err
		}
		if n < len(into) {
			return nil
		}
	}
	return nil
}

// hold keeps data for when the connection is resumed. It is at most one read of gnet.
func (in *input) hold(data []byte) {
	rest := getBuffer(len(data))
	in.restN = copy(rest.b, data)
	in.rest.free()
	in.rest = rest
}

// takeRest consumes what hold kept.
func (l *loop) takeRest(c *Conn) error {
	in := &c.in
	rest := in.rest
	if rest == nil {
		return nil
	}
	data := rest.b[:in.restN]
	in.rest, in.restN = nil, 0
	err := l.consume(c, data)
	rest.free()
	return err
}

// discard gives back what is assembled of a connection that is gone.
func (in *input) discard(c *Conn) {
	c.loop.s.uncharge(c, in.charged)
	in.frame.free()
	in.rest.free()
	*in = input{}
}
