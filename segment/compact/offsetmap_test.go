package compact

import (
	"fmt"
	"testing"
)

func TestOffsetMapKeepsTheLastOffsetUntilItIsFull(t *testing.T) {
	const keys = 10_000
	m, err := newOffsetMap(keys*entryBytes, 0.9, 1<<40)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	key := func(i int) []byte { return fmt.Appendf(nil, "key-%d", i) }
	for round := range int64(3) {
		for i := range keys * 9 / 10 {
			if !m.put(key(i), round*keys+int64(i)) {
				t.Fatalf("full with %d keys", m.used)
			}
		}
	}
	if m.put(key(keys), 1) || m.get(key(keys)) != -1 {
		t.Error("it takes more keys than its load factor allows")
	}
	if !m.put(key(7), 1<<40) {
		t.Error("full, it does not take a key it knows")
	}
	for i := range keys * 9 / 10 {
		want := int64(2*keys + i)
		if i == 7 {
			want = 1 << 40
		}
		if got := m.get(key(i)); got != want {
			t.Fatalf("key %d is at %d, want %d", i, got, want)
		}
	}
}

func TestOffsetMapIsNoLargerThanItHasToBe(t *testing.T) {
	for _, c := range []struct {
		bytes, records int64
		load           float64
		atLeast        int // keys that fit
		atMost         int // bytes mapped
	}{
		{1 << 30, 10, 0.9, 10, 1000},
		{1, 10, 0.9, 1, 100},
		{1 << 20, 1 << 40, 0.5, 1 << 20 / entryBytes / 2, 1 << 20},
		{1 << 20, 0, 1, 1, 100},
	} {
		m, err := newOffsetMap(c.bytes, c.load, c.records)
		if err != nil {
			t.Fatal(err)
		}
		if m.limit < c.atLeast || m.limit >= len(m.table) || len(m.mem) > c.atMost {
			t.Errorf("%+v: %d keys in %d bytes", c, m.limit, len(m.mem))
		}
		m.close()
	}
}

func BenchmarkOffsetMap(b *testing.B) {
	m, err := newOffsetMap(64<<20, 0.9, 1<<40)
	if err != nil {
		b.Fatal(err)
	}
	defer m.close()
	key := make([]byte, 0, 32)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		key = fmt.Appendf(key[:0], "key-%d", i%m.limit)
		m.put(key, int64(i))
	}
}
