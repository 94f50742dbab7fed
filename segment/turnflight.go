package segment

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"millrace/segment/journal"
	"millrace/segment/uring"
)

// maxTurn is the longest turn of the journal, bytes.
const maxTurn = 4 << 20

// turnFlight is the turn of the journal that is put together or under way.
type turnFlight struct {
	op      uring.Op
	iov     [1]unix.Iovec
	content *journal.Turn
	parts   []turnPart
	place   journal.Place
	flying  bool
	begun   time.Time
}

// turnPart is what one log has in a turn.
type turnPart struct {
	log  *Log
	upTo mark
}

func newTurnFlight() (*turnFlight, error) {
	content, err := journal.NewTurn(maxTurn)
	if err != nil {
		return nil, err
	}
	t := &turnFlight{content: content}
	t.op.Owner = t
	return t, nil
}

// turnTakes says whether n bytes of the log fit into a turn by themselves. If not there is no journal file for them.
func (w *writer) turnTakes(l *Log, n int64) bool {
	room := w.room
	if room == 0 {
		room = w.dir.journal.Room()
	}
	return n+journal.Overhead(l.name()) <= min(room, maxTurn)
}

// startTurn writes what the logs in w.small have, as much as fits, as one turn.
func (w *writer) startTurn() {
	t := w.turn
	w.room = w.dir.journal.Claim()
	for full := false; w.small.len() > 0 && !full; {
		l := w.small.first()
		l.mu.Lock()
		if w.commitForm(l) != viaJournal {
			w.small.pop()
			l.queued = false
			w.enqueue(l)
		} else if full = !w.addPart(l); !full {
			w.small.pop()
			l.queued = false
		}
		l.mu.Unlock()
	}
	w.room = 0
	if t.content.Empty() {
		w.dir.journal.Unclaim()
		return
	}
	t.place = w.dir.journal.Place(t.content)
	t.iov[0] = uring.Iovec(t.place.Bytes)
	t.op.Kind, t.op.Fd, t.op.Off = uring.Write, t.place.Fd, t.place.Offset
	t.op.Iov, t.op.Bytes, t.op.Durable = t.iov[:], len(t.place.Bytes), true
	t.flying = true
	t.begun = time.Now()
	w.launch(&t.op)
}

// addPart copies the log's uncommitted bytes into the turn. False: they do not fit any more. Under Log.mu.
func (w *writer) addPart(l *Log) bool {
	t := w.turn
	seg := l.firstUncommitted()
	upTo := mark{seg, seg.size, seg.nextOffset}
	n := int(upTo.pos - seg.committed)
	if !t.content.Fits(l.name(), n, w.room) {
		return false
	}
	dst := t.content.Add(&journal.Entry{
		Name: l.name(), TopicID: l.opts.TopicID, Segment: seg.baseOffset, Position: seg.committed, End: upTo.offset,
	}, n)
	if l.tail.copyOut(seg, seg.committed, dst) != n {
		panic(fmt.Sprintf("segment: %s: bytes to be committed are not in memory", seg.path))
	}
	t.parts = append(t.parts, turnPart{l, upTo})
	l.inFlight = true
	return true
}

// completeTurn takes in a turn that is written: all its logs advance.
func (w *writer) completeTurn(t *turnFlight) {
	w.account(&t.op, t.begun)
	if t.op.Err != nil {
		w.dir.journal.Break()
		w.dir.fail(fmt.Errorf("write journal at %d: %w", t.op.Off, t.op.Err))
	} else {
		w.dir.journal.Done()
		w.dir.stats.turns.Add(1)
		w.dir.stats.turnLogs.Add(int64(len(t.parts)))
		w.dir.stats.turnBytes.Add(int64(t.op.Bytes))
		if w.dir.journal.Wanting() || w.dir.journal.Full() {
			w.dir.rounds.ask()
		}
	}
	ok := t.op.Err == nil && w.dir.offline() == nil
	t.flying = false
	t.content.Reset()
	for i, p := range t.parts {
		l, durable := p.log, int64(-1)
		l.mu.Lock()
		l.inFlight = false
		if ok {
			durable = p.upTo.offset
			l.committedTo(p.upTo)
			l.journaled = t.place.Generation
		}
		if !l.queued {
			w.enqueue(l)
		}
		l.idle.Broadcast()
		l.mu.Unlock()
		if durable >= 0 {
			l.notifyDurable(durable)
		}
		t.parts[i] = turnPart{}
	}
	t.parts = t.parts[:0]
}
