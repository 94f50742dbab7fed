package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// answerTimeout is how long a probe waits for a frame before it writes down that
// there was none. Both brokers answer everything here in well under a second,
// also on a loaded machine; group rebalances are the slowest.
const answerTimeout = 15 * time.Second

// maxAnswer bounds one response frame, bytes: a broken length must not make the
// comparison allocate without limit.
const maxAnswer = 32 << 20

// errNoAnswer says that the broker kept the connection open and silent.
var errNoAnswer = errors.New("no answer")

// errClosed says that the broker closed or reset the connection.
var errClosed = errors.New("connection closed")

// Conn is one raw connection to a broker. It belongs to the goroutine of its run.
type Conn struct {
	nc          net.Conn
	correlation int32
}

// dial opens a connection to addr.
func dial(addr string) (*Conn, error) {
	nc, err := net.DialTimeout("tcp", addr, answerTimeout)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", addr, err)
	}
	return &Conn{nc: nc}, nil
}

// Close ends the connection from our side.
func (c *Conn) Close() { _ = c.nc.Close() }

// header is a request header as the probe wants it, true or not.
type header struct {
	key, version int16
	correlation  int32
	clientID     *string
	flexible     bool
}

// appendHeader appends h in the form of header version 1, or 2 if flexible.
func appendHeader(dst []byte, h header) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.key))
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.correlation))
	if h.clientID == nil {
		dst = binary.BigEndian.AppendUint16(dst, 0xffff)
	} else {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(*h.clientID)))
		dst = append(dst, *h.clientID...)
	}
	if h.flexible {
		dst = append(dst, 0) // no tagged fields
	}
	return dst
}

// sized puts the four-byte length in front of payload.
func sized(payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(payload))), payload...)
}

// clientID is what every well-formed request of a probe carries.
var clientID = "probe"

// encode gives the whole frame of req at its version and the correlation id in it.
func (c *Conn) encode(req kmsg.Request) ([]byte, int32) {
	c.correlation++
	h := header{req.Key(), req.GetVersion(), c.correlation, &clientID, req.IsFlexible()}
	return sized(req.AppendTo(appendHeader(nil, h))), c.correlation
}

// Write sends bytes as they are. A broker that closed the connection is not an
// error here: the read that follows sees it.
func (c *Conn) Write(b []byte) {
	_ = c.nc.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, _ = c.nc.Write(b)
}

// ReadFrame gives the payload of the next frame: correlation id, header tags if
// any, body. It fails with errNoAnswer after wait, and with errClosed when the
// broker ended the connection.
func (c *Conn) ReadFrame(wait time.Duration) ([]byte, error) {
	_ = c.nc.SetReadDeadline(time.Now().Add(wait))
	var size [4]byte
	if _, err := io.ReadFull(c.nc, size[:]); err != nil {
		return nil, readError(err)
	}
	n := int32(binary.BigEndian.Uint32(size[:]))
	if n < 4 || n > maxAnswer {
		return nil, fmt.Errorf("answer claims %d bytes", n)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(c.nc, payload); err != nil {
		return nil, fmt.Errorf("answer of %d bytes is cut: %w", n, readError(err))
	}
	return payload, nil
}

func readError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errNoAnswer
	}
	return errClosed // end of file and reset are the same to a client
}

// decode reads the payload of a frame as the response of req. The second result
// is how many bytes of the body the response does not account for: 0 in a correct
// answer, since kmsg and the broker then agree on every byte.
func decode(payload []byte, req kmsg.Request, correlation int32) (kmsg.Response, int, error) {
	if got := int32(binary.BigEndian.Uint32(payload)); got != correlation {
		return nil, 0, fmt.Errorf("answer has correlation id %d, the request had %d", got, correlation)
	}
	body := payload[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && req.Key() != apiVersionsKey {
		if len(body) == 0 || body[0] != 0 {
			return nil, 0, errors.New("answer lacks the empty tag section of its header")
		}
		body = body[1:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return nil, 0, fmt.Errorf("decode response of key %d version %d, %d bytes: %w", req.Key(), req.GetVersion(), len(body), err)
	}
	return resp, len(body) - len(resp.AppendTo(nil)), nil
}

// apiVersionsKey has a response header without tags in every version.
const apiVersionsKey = 18
