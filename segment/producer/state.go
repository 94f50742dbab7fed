package producer

import (
	"errors"
	"fmt"
	"math"

	"millrace/segment/batch"
)

// Why a batch is refused. They come wrapped with the numbers.
var (
	// ErrOutOfOrderSequence: OUT_OF_ORDER_SEQUENCE_NUMBER.
	ErrOutOfOrderSequence = errors.New("out of order sequence")
	// ErrInvalidProducerEpoch: INVALID_PRODUCER_EPOCH.
	ErrInvalidProducerEpoch = errors.New("invalid producer epoch")
	// ErrInvalidTxnState: INVALID_TXN_STATE, a plain batch inside the producer's own
	// open transaction.
	ErrInvalidTxnState = errors.New("invalid transaction state")
	// ErrCoordinatorFenced: TRANSACTION_COORDINATOR_FENCED, a marker of a transaction
	// coordinator that has been replaced.
	ErrCoordinatorFenced = errors.New("transaction coordinator fenced")
)

// maxProducers bounds the state of one log, because producer ids are the clients'
// to make up: about 30 MB. Above it the one that has been silent longest is
// forgotten, as if it had expired.
const maxProducers = 100_000

// State is the producers of one log.
type State struct {
	expirationMs int64
	producers    map[int64]*producer
	// oldest and newest are the ends of the list of producers in order of their
	// last append.
	oldest, newest *producer
	// open has the open transactions in order of their first offset, which is the
	// order in which they were opened.
	open []openTxn
}

type openTxn struct{ firstOffset, producerID int64 }

// Info describes one producer, for DescribeProducers.
type Info struct {
	ProducerID            int64
	ProducerEpoch         int32
	LastSequence          int32 // -1: none
	LastTimestamp         int64
	CoordinatorEpoch      int32 // -1: none
	CurrentTxnStartOffset int64 // -1: none
}

// CompletedTxn is a transaction that a marker has ended.
type CompletedTxn struct {
	ProducerID  int64
	FirstOffset int64 // of its first record
	LastOffset  int64 // of the marker
	Aborted     bool
}

// New makes an empty state. A producer that has appended nothing for
// expirationMs milliseconds and has no open transaction is forgotten by Expire.
func New(expirationMs int64) *State {
	return &State{expirationMs: expirationMs, producers: make(map[int64]*producer)}
}

// SetExpiration changes after how many milliseconds of silence Expire forgets a
// producer.
func (s *State) SetExpiration(ms int64) { s.expirationMs = ms }

// Len is the number of producers.
func (s *State) Len() int { return len(s.producers) }

// Check decides about a validated batch before it is appended, and changes
// nothing. dup is the remembered batch that b repeats; it is valid until the next
// Update. A batch without producer id always passes.
func (s *State) Check(b batch.Batch) (dup *Entry, err error) {
	id := b.ProducerID()
	if id < 0 {
		return nil, nil
	}
	p := s.producers[id]
	if p == nil {
		return nil, nil
	}
	epoch := b.ProducerEpoch()
	if b.IsControl() {
		return nil, p.checkMarker(b)
	}
	seq := b.BaseSequence()
	if epoch == p.epoch {
		if e := p.find(seq, b.LastSequence()); e != nil {
			return e, nil
		}
	}
	if err := p.checkSequence(epoch, seq); err != nil {
		return nil, err
	}
	if p.txnFirstOffset >= 0 && !b.IsTransactional() {
		return nil, fmt.Errorf("%w: producer %d: plain batch in the transaction open since offset %d",
			ErrInvalidTxnState, id, p.txnFirstOffset)
	}
	return nil, nil
}

func (p *producer) checkSequence(epoch int16, seq int32) error {
	switch {
	case epoch < p.epoch:
		return fmt.Errorf("%w: producer %d: epoch %d, current is %d", ErrInvalidProducerEpoch, p.id, epoch, p.epoch)
	case epoch > p.epoch:
		if seq != 0 {
			return fmt.Errorf("%w: producer %d: sequence %d in new epoch %d (current is %d), expected 0",
				ErrOutOfOrderSequence, p.id, seq, epoch, p.epoch)
		}
		return nil
	}
	last := p.lastSequence()
	if seq == last+1 || last == math.MaxInt32 && seq == 0 {
		return nil
	}
	return fmt.Errorf("%w: producer %d: sequence %d follows %d", ErrOutOfOrderSequence, p.id, seq, last)
}

func (p *producer) checkMarker(b batch.Batch) error {
	if b.ProducerEpoch() < p.epoch {
		return fmt.Errorf("%w: producer %d: marker of epoch %d, current is %d",
			ErrInvalidProducerEpoch, p.id, b.ProducerEpoch(), p.epoch)
	}
	if m, ok := parseMarker(b); ok && m.coordinatorEpoch < p.coordinatorEpoch {
		return fmt.Errorf("%w: producer %d: coordinator epoch %d, current is %d",
			ErrCoordinatorFenced, p.id, m.coordinatorEpoch, p.coordinatorEpoch)
	}
	return nil
}

// Update takes in a batch that was appended at baseOffset, or is replayed from
// the log: nothing is refused. nowMs is the broker's clock. A marker that ends a
// transaction gives ok and the transaction.
func (s *State) Update(b batch.Batch, baseOffset, nowMs int64) (done CompletedTxn, ok bool) {
	id := b.ProducerID()
	if id < 0 {
		return CompletedTxn{}, false
	}
	if b.IsControl() {
		return s.updateMarker(b, baseOffset, nowMs)
	}
	p := s.touch(id, b.ProducerEpoch(), nowMs)
	delta := b.LastOffsetDelta()
	p.add(newEntry(b.LastSequence(), baseOffset+int64(delta), delta, b.MaxTimestamp()))
	p.lastTimestamp = b.MaxTimestamp()
	if b.IsTransactional() && p.txnFirstOffset < 0 {
		p.txnFirstOffset = baseOffset
		s.open = append(s.open, openTxn{baseOffset, id})
	}
	return CompletedTxn{}, false
}

func (s *State) updateMarker(b batch.Batch, baseOffset, nowMs int64) (done CompletedTxn, ok bool) {
	m, isMarker := parseMarker(b)
	if !isMarker {
		return CompletedTxn{}, false
	}
	p := s.touch(b.ProducerID(), b.ProducerEpoch(), nowMs)
	p.coordinatorEpoch = m.coordinatorEpoch
	p.lastTimestamp = b.MaxTimestamp()
	if p.txnFirstOffset < 0 {
		return CompletedTxn{}, false
	}
	done = CompletedTxn{p.id, p.txnFirstOffset, baseOffset, m.aborted}
	s.closeTxn(p)
	return done, true
}

func (s *State) closeTxn(p *producer) {
	for i, t := range s.open {
		if t.producerID == p.id {
			s.open = append(s.open[:i], s.open[i+1:]...)
			break
		}
	}
	p.txnFirstOffset = -1
}

// touch returns the producer, made if need be, as the one that appended last.
func (s *State) touch(id int64, epoch int16, nowMs int64) *producer {
	p := s.producers[id]
	if p == nil {
		if len(s.producers) >= maxProducers {
			s.forgetOldest()
		}
		p = &producer{id: id, epoch: epoch, coordinatorEpoch: -1, lastTimestamp: -1, txnFirstOffset: -1}
		s.producers[id] = p
		s.pushNewest(p)
	} else if p != s.newest {
		s.unlink(p)
		s.pushNewest(p)
	}
	p.setEpoch(epoch)
	p.lastAppendMs = nowMs
	return p
}

func (s *State) pushNewest(p *producer) {
	p.prev, p.next = s.newest, nil
	if s.newest == nil {
		s.oldest = p
	} else {
		s.newest.next = p
	}
	s.newest = p
}

func (s *State) unlink(p *producer) {
	if p.prev == nil {
		s.oldest = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		s.newest = p.prev
	} else {
		p.next.prev = p.prev
	}
}

func (s *State) forget(p *producer) {
	s.unlink(p)
	delete(s.producers, p.id)
}

// forgetOldest forgets the producer that has been silent longest among those
// without open transaction.
func (s *State) forgetOldest() {
	for p := s.oldest; p != nil; p = p.next {
		if p.txnFirstOffset < 0 {
			s.forget(p)
			return
		}
	}
}

// Expire forgets the producers that have appended nothing for the expiration
// time. One with an open transaction stays. It looks at no more producers than it
// forgets, and at those with open transactions.
func (s *State) Expire(nowMs int64) {
	for p := s.oldest; p != nil && nowMs-p.lastAppendMs >= s.expirationMs; {
		next := p.next
		if p.txnFirstOffset < 0 {
			s.forget(p)
		}
		p = next
	}
}

// Producers describes all producers, the one that has been silent longest first.
func (s *State) Producers() []Info {
	infos := make([]Info, 0, len(s.producers))
	for p := s.oldest; p != nil; p = p.next {
		infos = append(infos, Info{
			ProducerID:            p.id,
			ProducerEpoch:         int32(p.epoch),
			LastSequence:          p.lastSequence(),
			LastTimestamp:         p.lastTimestamp,
			CoordinatorEpoch:      p.coordinatorEpoch,
			CurrentTxnStartOffset: p.txnFirstOffset,
		})
	}
	return infos
}

// FirstUnstableOffset is the first offset of the earliest open transaction; false
// if none is open.
func (s *State) FirstUnstableOffset() (int64, bool) {
	if len(s.open) == 0 {
		return 0, false
	}
	return s.open[0].firstOffset, true
}

// LastRecord is the last thing of a producer that is in the log.
type LastRecord struct {
	ProducerID    int64
	LastOffset    int64 // of its last batch of records in its epoch; -1: there is none, its marker came last
	ProducerEpoch int16
}

// LastRecords appends the last record of each producer. Compaction keeps the batch of it, so that what is known of the
// producer can be read from the log again.
func (s *State) LastRecords(dst []LastRecord) []LastRecord {
	for p := s.oldest; p != nil; p = p.next {
		r := LastRecord{p.id, -1, p.epoch}
		if p.n > 0 {
			r.LastOffset = p.batches[p.n-1].LastOffset
		}
		dst = append(dst, r)
	}
	return dst
}
