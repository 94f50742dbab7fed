package history

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// made is a history of one partition with the log that it should have left: two lanes
// of six records, interleaved, of which one was refused and one stayed unknown and is
// not in the log.
func made() (*History, []Record) {
	h := New()
	var log []Record
	for seq := range 6 {
		for producer := range int32(2) {
			s := h.Invoke(producer, 0)
			switch {
			case seq == 2 && producer == 0:
				h.Refuse(s)
			case seq == 3 && producer == 1:
			default:
				h.Acknowledge(s, int64(len(log)))
				log = append(log, Record{Offset: int64(len(log)), Value: s.Encode(40 + seq)})
			}
		}
	}
	return h, log
}

func kinds(vs []Violation) []Kind {
	var out []Kind
	for _, v := range vs {
		if !slices.Contains(out, v.Kind) {
			out = append(out, v.Kind)
		}
	}
	slices.Sort(out)
	return out
}

// renumber gives the records the offsets 0, 1, 2...
func renumber(log []Record) []Record {
	for i := range log {
		log[i].Offset = int64(i)
	}
	return log
}

func TestAGoodHistoryHasNoViolations(t *testing.T) {
	h, log := made()
	if vs := h.Check(0, 0, slices.Values(log)); vs != nil {
		t.Fatal(vs)
	}
	if sent, acked, refusals := h.Counts(); sent != 12 || acked != 10 || refusals != 1 {
		t.Errorf("counts are %d sent, %d acknowledged, %d refused", sent, acked, refusals)
	}
	if end := h.AcknowledgedEnd(0); end != 10 {
		t.Errorf("acknowledged end is %d, want 10", end)
	}
}

func TestBadHistoriesAreFound(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(h *History, log []Record) []Record
		want  []Kind
	}{
		"the last acknowledged record is lost": {
			func(_ *History, log []Record) []Record { return log[:len(log)-1] }, []Kind{Lost}},
		"everything is lost": {
			func(*History, []Record) []Record { return nil }, []Kind{Lost}},
		"a record is lost and leaves a hole": {
			func(_ *History, log []Record) []Record { return slices.Delete(log, 4, 5) }, []Kind{Gap, Lost}},
		"the first records are lost": {
			func(_ *History, log []Record) []Record { return log[2:] }, []Kind{Gap, Lost}},
		"a record is lost and the others close up": {
			func(_ *History, log []Record) []Record { return renumber(slices.Delete(log, 4, 5)) }, []Kind{Lost, Moved}},
		"a retry is appended again at the end": {
			func(_ *History, log []Record) []Record {
				return append(log, Record{Offset: int64(len(log)), Value: log[len(log)-1].Value})
			}, []Kind{Duplicate}},
		"an old record is appended again": {
			func(_ *History, log []Record) []Record {
				return append(log, Record{Offset: int64(len(log)), Value: log[0].Value})
			}, []Kind{Duplicate}},
		"two records of a lane change places": {
			func(_ *History, log []Record) []Record {
				log[0].Value, log[2].Value = log[2].Value, log[0].Value
				return log
			}, []Kind{Moved, Reordered}},
		"an unknown record appears after later ones of its lane": {
			func(_ *History, log []Record) []Record {
				return append(log, Record{Offset: int64(len(log)), Value: Stamp{1, 0, 3}.Encode(30)})
			}, []Kind{Reordered}},
		"a refused record is there": {
			func(h *History, log []Record) []Record {
				s := h.Invoke(0, 0)
				h.Refuse(s)
				return append(log, Record{Offset: int64(len(log)), Value: s.Encode(30)})
			}, []Kind{Phantom}},
		"a record that nobody sent": {
			func(_ *History, log []Record) []Record {
				return append(log, Record{Offset: int64(len(log)), Value: Stamp{0, 0, 99}.Encode(30)})
			}, []Kind{Phantom}},
		"a record of a producer that is not": {
			func(_ *History, log []Record) []Record {
				return append(log, Record{Offset: int64(len(log)), Value: Stamp{7, 0, 0}.Encode(30)})
			}, []Kind{Phantom}},
		"a record of another partition": {
			func(h *History, log []Record) []Record {
				return append(log, Record{Offset: int64(len(log)), Value: h.Invoke(0, 1).Encode(30)})
			}, []Kind{Phantom}},
		"a flipped bit": {
			func(_ *History, log []Record) []Record {
				log[3].Value = bytes.Clone(log[3].Value)
				log[3].Value[25] ^= 1
				return log
			}, []Kind{Corrupt, Lost}},
		"an offset is given twice": {
			func(_ *History, log []Record) []Record {
				log[5].Offset--
				return log
			}, []Kind{Gap, Moved}},
	} {
		t.Run(name, func(t *testing.T) {
			h, log := made()
			if got := kinds(h.Check(0, 0, slices.Values(tc.spoil(h, log)))); !slices.Equal(got, tc.want) {
				t.Errorf("found %v, want %v", got, tc.want)
			}
		})
	}
}

func TestAnUnknownRecordMayBeInTheLog(t *testing.T) {
	h := New()
	a, b := h.Invoke(0, 0), h.Invoke(0, 0)
	h.Acknowledge(b, 1)
	if vs := h.Check(0, 0, slices.Values([]Record{{Offset: 0, Value: a.Encode(0)}, {Offset: 1, Value: b.Encode(0)}})); vs != nil {
		t.Error(vs)
	}
}

// TestAnyDropSwapOrRepeatIsFound makes random histories in which everything is
// acknowledged and spoils the log in one place.
func TestAnyDropSwapOrRepeatIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := New()
		var log []Record
		for _, producer := range rapid.SliceOfN(rapid.Int32Range(0, 3), 2, 60).Draw(t, "producers") {
			s := h.Invoke(producer, 5)
			h.Acknowledge(s, int64(len(log)))
			log = append(log, Record{Offset: int64(len(log)), Value: s.Encode(20)})
		}
		if vs := h.Check(5, 0, slices.Values(log)); vs != nil {
			t.Fatalf("a good history is found bad: %v", vs)
		}
		i := rapid.IntRange(0, len(log)-1).Draw(t, "i")
		j := rapid.IntRange(0, len(log)-1).Draw(t, "j")
		switch rapid.SampledFrom([]string{"drop", "swap", "repeat"}).Draw(t, "how") {
		case "drop":
			log = renumber(slices.Delete(log, i, i+1))
		case "repeat":
			log = renumber(slices.Insert(log, j, log[i]))
		case "swap":
			if i == j {
				return
			}
			log[i].Value, log[j].Value = log[j].Value, log[i].Value
		}
		if vs := h.Check(5, 0, slices.Values(log)); vs == nil {
			t.Fatal("a spoilt log is found good")
		}
	})
}

func TestManyViolationsOfAKindAreCounted(t *testing.T) {
	h := New()
	for i := range int64(1000) {
		h.Acknowledge(h.Invoke(0, 0), i)
	}
	vs := h.Check(0, 0, slices.Values([]Record(nil)))
	if len(vs) != perKind+1 || !strings.Contains(vs[perKind].String(), "990 more") {
		t.Errorf("%d violations, the last is %v", len(vs), vs[len(vs)-1])
	}
}

func TestCommits(t *testing.T) {
	c := NewCommits()
	steps := []struct {
		name string
		do   func()
		see  int64
		want []Kind
	}{
		{"nothing committed", func() {}, -1, nil},
		{"nothing asked, yet an answer", func() {}, 0, []Kind{NeverAsked}},
		{"asked and not confirmed, not there", func() { c.Ask(0, 10) }, 0, nil},
		{"asked and not confirmed, there", func() {}, 10, nil},
		{"gone again", func() {}, 9, []Kind{WentBack}},
		{"confirmed", func() { c.Ask(0, 20); c.Acknowledge(0, 20) }, 20, nil},
		{"confirmed and gone", func() {}, -1, []Kind{WentBack}},
		{"confirmed, an older answer", func() { c.Ask(0, 30); c.Acknowledge(0, 30) }, 25, []Kind{WentBack}},
		{"beyond everything", func() {}, 31, []Kind{NeverAsked}},
	}
	for _, s := range steps {
		s.do()
		if got := kinds(c.Observe(0, c.Acknowledged(0), s.see)); !slices.Equal(got, s.want) {
			t.Errorf("%s: found %v, want %v", s.name, got, s.want)
		}
	}
	if got := c.Acknowledged(0); got != 30 {
		t.Errorf("acknowledged %d, want 30", got)
	}
	if got := c.Acknowledged(1); got != -1 {
		t.Errorf("acknowledged %d in a partition without commits, want -1", got)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Stamp{1, 2, 3}.Encode(100))
	f.Add(Stamp{}.Encode(0))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, value []byte) {
		s, err := Decode(value)
		if err == nil && len(value) < MinValueBytes {
			t.Fatalf("%d bytes decode as %+v", len(value), s)
		}
	})
}

func TestWhatIsBelowTheLogStartIsNotMissedButMayNotComeAgain(t *testing.T) {
	h := New()
	var stamps []Stamp
	for i := range 4 {
		s := h.Invoke(1, 0)
		h.Acknowledge(s, int64(i))
		stamps = append(stamps, s)
	}
	read := func(start int64, seqs ...int) []Violation {
		return h.Check(0, start, func(yield func(Record) bool) {
			for i, seq := range seqs {
				if !yield(Record{Offset: start + int64(i), Value: stamps[seq].Encode(40)}) {
					return
				}
			}
		})
	}
	if vs := read(2, 2, 3); len(vs) > 0 {
		t.Errorf("a log that starts at 2: %v", vs)
	}
	if vs := read(2, 2); len(vs) != 1 || vs[0].Kind != Lost {
		t.Errorf("one above the start is missing: %v", vs)
	}
	h.Trim(0, 2)
	if sent, acked, _ := h.Counts(); sent != 4 || acked != 4 {
		t.Errorf("%d sent, %d acknowledged after trimming", sent, acked)
	}
	if vs := read(2, 2, 3); len(vs) > 0 {
		t.Errorf("after trimming: %v", vs)
	}
	stamps = append(stamps, h.Invoke(1, 0))
	h.Acknowledge(stamps[4], 4)
	if stamps[4].Seq != 4 {
		t.Errorf("the next number is %d", stamps[4].Seq)
	}
	if vs := read(2, 2, 3, 4); len(vs) > 0 {
		t.Errorf("with one more: %v", vs)
	}
	if vs := read(4, 4, 0); len(vs) != 1 || vs[0].Kind != Duplicate {
		t.Errorf("one of before comes again: %v", vs)
	}
}
