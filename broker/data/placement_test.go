package data

import (
	"log/slog"
	"testing"

	"millrace/broker/config"
	"millrace/broker/meta"
	"millrace/segment"
)

func TestNewPartitionsGoWhereTheMostSpaceIs(t *testing.T) {
	const gb = 1 << 30
	for _, c := range []struct {
		name   string
		usable []int64
		want   []int // partitions of twelve in each dir
	}{
		{"one is much emptier", []int64{100 * gb, 500 * gb, 300 * gb}, []int{0, 12, 0}},
		{"two are about equally free", []int64{480 * gb, 500 * gb, 300 * gb}, []int{6, 6, 0}},
		{"all are full", []int64{0, 0, 0}, []int{4, 4, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Service{preferred: map[topicPartition]*segment.Dir{}}
			free := map[*segment.Dir]int64{}
			for _, usable := range c.usable {
				d, err := segment.OpenDir(segment.DirOptions{Path: t.TempDir(), ClusterID: "c", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { d.Close() })
				s.dirs, free[d] = append(s.dirs, d), usable
			}
			s.usable = func(d *segment.Dir) int64 { return free[d] }
			next := s.plan(meta.NewImage(&config.Broker{}, "c"))
			got := map[*segment.Dir]int{}
			for i := range int32(12) {
				d, ok := next(topicPartition{"t", i})
				if !ok {
					t.Fatal("no log dir")
				}
				got[d]++
			}
			for i, d := range s.dirs {
				if got[d] != c.want[i] {
					t.Errorf("%d partitions in dir %d, want %d", got[d], i, c.want[i])
				}
			}
		})
	}
}
