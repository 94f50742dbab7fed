package broker

import (
	"time"

	"millrace/broker/config"
	"millrace/broker/http"
	"millrace/segment"
	"millrace/segment/compact"
)

// startCleaner begins compacting the logs of all log dirs, unless that is switched off. Moves that go on from before the
// start keep it from the logs they copy, so they come first.
func (b *Broker) startCleaner() {
	if !b.config.CleanerEnable {
		return
	}
	b.cleaner = compact.Start(compact.Options{
		Logs: func() (logs []*segment.Log) {
			for _, d := range b.dirs {
				logs = append(logs, d.Logs()...)
			}
			return logs
		},
		Bound: func(l *segment.Log) int64 {
			p := b.data.Partition(l.Topic(), l.Partition())
			if p == nil || p.Log() != l {
				return 0 // it is opened, moved or deleted just now
			}
			return p.LastStableOffset()
		},
		Config: func() compact.Config { return cleanerConfig(b.meta.Image().Config) },
		Now:    time.Now,
		Logger: b.log,
	})
}

// cleanerConfig is the part of the configuration that compaction follows while it runs.
func cleanerConfig(c *config.Broker) compact.Config {
	return compact.Config{
		Threads:           int(c.CleanerThreads),
		DedupeBufferBytes: c.CleanerDedupeBytes,
		LoadFactor:        min(max(c.CleanerLoadFactor, 0.01), 1),
		IOBufferBytes:     int(c.CleanerIOBufferBytes),
		MaxBytesPerSecond: c.CleanerBytesPerSecond,
		BackoffMs:         c.CleanerBackoffMs,
	}
}

// cleanerMetrics are there, zero, when nothing is compacted, too.
func (b *Broker) cleanerMetrics() []http.Metric {
	read := func() compact.Stats {
		if b.cleaner == nil {
			return compact.Stats{}
		}
		return b.cleaner.Stats()
	}
	row := func(name, help string, kind http.Kind, f func(compact.Stats) int64) http.Metric {
		return http.Value("log_cleaner_"+name, help, kind, func() int64 { return f(read()) })
	}
	return []http.Metric{
		row("runs_total", "Passes of compaction over a partition.", http.Counter, func(s compact.Stats) int64 { return s.Runs }),
		row("failures_total", "Passes that failed and made their partition uncleanable.", http.Counter, func(s compact.Stats) int64 { return s.Failures }),
		row("no_space_total", "Passes ended by a full disk.", http.Counter, func(s compact.Stats) int64 { return s.NoSpace }),
		row("read_bytes_total", "Bytes of batches read by compaction.", http.Counter, func(s compact.Stats) int64 { return s.ReadBytes }),
		row("written_bytes_total", "Bytes of batches written by compaction.", http.Counter, func(s compact.Stats) int64 { return s.WrittenBytes }),
		row("active", "Partitions being compacted.", http.Gauge, func(s compact.Stats) int64 { return int64(s.Active) }),
		row("uncleanable_partitions", "Partitions whose last pass failed; they are tried again.", http.Gauge, func(s compact.Stats) int64 { return int64(s.Uncleanable) }),
		row("last_run_timestamp_seconds", "End of the last pass, seconds since 1970; 0: none since the start.", http.Gauge, func(s compact.Stats) int64 {
			if s.LastRun.IsZero() {
				return 0
			}
			return s.LastRun.Unix()
		}),
		{
			Name: "log_cleaner_max_dirty_ratio", Help: "Largest share of a compacted partition that was never compacted.", Kind: http.Gauge,
			Read: func(emit func(float64, ...string)) { emit(read().MaxDirtyRatio) },
		},
	}
}
