package broker

import (
	"slices"

	"millrace/broker/admin"
)

// logDirs describes the log dirs of this node for DescribeLogDirs.
type logDirs struct{ b *Broker }

// LogDirs lists each dir with the size of every replica in it, and of those being moved to it.
func (l logDirs) LogDirs() []admin.LogDir {
	cordoned := l.b.data.Cordoned(l.b.meta.Image())
	out := make([]admin.LogDir, 0, len(l.b.dirs)+len(l.b.lost))
	for _, d := range l.b.dirs {
		x := admin.LogDir{Path: d.Path(), Offline: d.Err() != nil, TotalBytes: -1, UsableBytes: -1, Cordoned: slices.Contains(cordoned, d.Path())}
		if !x.Offline {
			x.TotalBytes, x.UsableBytes = d.Usage()
			for _, p := range l.b.data.PartitionsIn(d) {
				x.Partitions = append(x.Partitions, admin.PartitionSize{
					Topic:     p.Topic,
					Partition: p.Index,
					Size:      p.Log().Size(),
					OffsetLag: max(0, p.HighWatermark()-p.LogEndOffset()),
				})
			}
			for _, m := range l.b.data.MovesTo(d) {
				x.Partitions = append(x.Partitions, admin.PartitionSize{
					Topic: m.Topic, Partition: m.Partition, Size: m.Size, OffsetLag: m.OffsetLag, Future: true,
				})
			}
		}
		out = append(out, x)
	}
	for _, d := range l.b.lost {
		out = append(out, admin.LogDir{Path: d.path, Offline: true, TotalBytes: -1, UsableBytes: -1, Cordoned: slices.Contains(cordoned, d.path)})
	}
	return out
}
