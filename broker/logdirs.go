package broker

import "millrace/broker/admin"

// logDirs describes the log dirs of this node for DescribeLogDirs.
type logDirs struct{ b *Broker }

// LogDirs lists each dir with the size of every partition in it.
func (l logDirs) LogDirs() []admin.LogDir {
	out := make([]admin.LogDir, 0, len(l.b.dirs))
	for _, d := range l.b.dirs {
		x := admin.LogDir{Path: d.Path(), Offline: d.Err() != nil, TotalBytes: -1, UsableBytes: -1}
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
		}
		out = append(out, x)
	}
	return out
}
