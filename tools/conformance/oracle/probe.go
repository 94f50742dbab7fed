package oracle

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Probe is one question, or a short story of questions, put to a broker.
type Probe struct {
	Name  string // unique; what the differences file calls it
	Rules []Rule // what of the answers cannot be equal
	Alone bool   // sees or changes the state of the whole broker
	Play  func(r *Run)
}

// Run is one probe against one broker. It collects what was seen.
type Run struct {
	addr   string
	prefix string // of every topic, group and instance name; the same for both brokers
	rules  []Rule
	conns  []*Conn
	seen   []Field
	labels map[string]int // how often each label was used
}

// play runs p against the broker at addr and gives what it saw. run makes names
// unique, so that a broker can be asked twice; what is seen shows ~ for the unique
// part. A connection that cannot be opened
// is an error; everything a broker does is an observation.
func play(p Probe, addr, run string) (seen []Field, err error) {
	r := &Run{addr: addr, prefix: run + "-" + p.Name, rules: p.Rules, labels: map[string]int{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			for _, c := range r.conns {
				c.Close()
			}
		}()
		if _, err = r.open(); err == nil {
			p.Play(r)
		}
	})
	wg.Wait()
	for i := range r.seen {
		r.seen[i].Path = strings.ReplaceAll(r.seen[i].Path, r.prefix, "~")
		r.seen[i].Value = strings.ReplaceAll(r.seen[i].Value, r.prefix, "~")
		r.seen[i].Value = apply(p.Rules, r.seen[i])
	}
	return r.seen, err
}

func (r *Run) open() (*Conn, error) {
	c, err := dial(r.addr)
	if err == nil {
		r.conns = append(r.conns, c)
	}
	return c, err
}

// Conn is the first connection of the run.
func (r *Run) Conn() *Conn { return r.conns[0] }

// Dial opens a further connection; a broker that takes none ends the run.
func (r *Run) Dial() *Conn {
	c, err := r.open()
	if err != nil {
		r.fail("dial", err)
	}
	return c
}

// Name gives a topic, group or instance name of this probe alone.
func (r *Run) Name(suffix string) string { return r.prefix + "-" + suffix }

// Note writes a value down under label.
func (r *Run) Note(label string, value any) {
	r.seen = append(r.seen, Field{r.unique(label), fmt.Sprint(value)})
}

// unique numbers a label that was used before in this run: a story may ask the
// same thing twice, and the second answer must not be compared with the first.
func (r *Run) unique(label string) string {
	r.labels[label]++
	if n := r.labels[label]; n > 1 {
		return fmt.Sprintf("%s#%d", label, n)
	}
	return label
}

// fail writes down why the story ends here, and ends it: what a broker does not
// answer is a difference at that step, not at all later ones.
func (r *Run) fail(label string, err error) {
	r.Note(label, err)
	runtime.Goexit()
}

// see writes down a decoded answer.
func (r *Run) see(label string, resp kmsg.Response) {
	r.seen = fields(r.seen, r.unique(label), reflect.ValueOf(resp), r.rules)
}

// send gives the answer to req, without writing it down.
func send[T kmsg.Response](r *Run, c *Conn, label string, version int16, req kmsg.Request) T {
	req.SetVersion(version)
	frame, correlation := c.encode(req)
	c.Write(frame)
	return receive[T](r, c, label, req, correlation)
}

// receive reads the answer to a request that was sent before.
func receive[T kmsg.Response](r *Run, c *Conn, label string, req kmsg.Request, correlation int32) T {
	payload, err := c.ReadFrame(answerTimeout)
	if err != nil {
		r.fail(label, err)
	}
	resp, left, err := decode(payload, req, correlation)
	if err != nil {
		r.fail(label, err)
	}
	if left != 0 {
		r.Note(label+".unaccounted", left)
	}
	return resp.(T)
}

// ask sends req at version on the first connection and writes the answer down.
func ask[T kmsg.Response](r *Run, label string, version int16, req kmsg.Request) T {
	return askOn[T](r, r.Conn(), label, version, req)
}

// askOn is ask on a connection of choice.
func askOn[T kmsg.Response](r *Run, c *Conn, label string, version int16, req kmsg.Request) T {
	resp := send[T](r, c, label, version, req)
	r.see(label, resp)
	return resp
}

// askAny is ask for tables of requests, where the kind of response does not matter.
func (r *Run) askAny(label string, version int16, req kmsg.Request) {
	r.askAnyOn(r.Conn(), label, version, req)
}

// askAnyOn is askAny on a connection of choice.
func (r *Run) askAnyOn(c *Conn, label string, version int16, req kmsg.Request) {
	askOn[kmsg.Response](r, c, label, version, req)
}

// quiet is how long a probe listens to be sure that nothing comes. Only probes
// that expect silence on an open connection pay it.
const quiet = 700 * time.Millisecond

// outcome writes down what the broker does with bytes that deserve no answer:
// closed, silent, or answered all the same.
func (r *Run) outcome(label string, c *Conn, wait time.Duration) {
	_, err := c.ReadFrame(wait)
	switch {
	case err == nil:
		r.Note(label, "answered")
	case errors.Is(err, errNoAnswer):
		r.Note(label, "silent")
	default:
		r.Note(label, err)
	}
}
