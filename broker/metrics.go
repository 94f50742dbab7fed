package broker

import (
	"errors"
	"fmt"
	"time"

	"millrace/broker/data"
	"millrace/broker/group"
	"millrace/broker/http"
	"millrace/net/server"
	"millrace/segment"
)

// serveHTTP starts the port for metrics, health and profiles, if one is configured.
func (b *Broker) serveHTTP(version string) error {
	if b.config.HTTPAddr == "" {
		return nil
	}
	s, err := http.Start(http.Options{
		Addr:    b.config.HTTPAddr,
		Remote:  true, // the configuration has warned of an address that is not loopback
		Metrics: b.metrics(version),
		Live:    b.live,
		Ready:   b.live, // the port opens when the node serves
		Logger:  b.log,
	})
	if err != nil {
		return err
	}
	b.http = s
	return nil
}

// live says why the node cannot go on: no log dir is left.
func (b *Broker) live() error {
	var errs []error
	for _, d := range b.dirs {
		if err := d.Err(); err != nil {
			errs = append(errs, fmt.Errorf("log dir %s: %w", d.Path(), err))
		}
	}
	if len(errs) < len(b.dirs) {
		return nil
	}
	return errors.Join(errs...)
}

// metrics is every row of /metrics.
func (b *Broker) metrics(version string) []http.Metric {
	rows := []http.Metric{{
		Name: "build_info", Help: "Always 1; the version is a label.", Kind: http.Gauge, Labels: []string{"version"},
		Read: func(emit func(float64, ...string)) { emit(1, version) },
	}}
	rows = append(rows, networkMetrics(b.server.Stats)...)
	rows = append(rows, dataMetrics(b.data.Stats)...)
	rows = append(rows, b.storageMetrics()...)
	rows = append(rows, b.cleanerMetrics()...)
	rows = append(rows, coldMetrics()...)
	return append(rows, groupMetrics(b.groups.Stats)...)
}

func coldMetrics() []http.Metric {
	row := func(name, help string, kind http.Kind, f func(segment.ColdStats) int64) http.Metric {
		return http.Value("cold_"+name, help, kind, func() int64 { return f(segment.ReadColdStats()) })
	}
	return []http.Metric{
		row("direct_bytes_total", "Bytes read past the page cache.", http.Counter, func(s segment.ColdStats) int64 { return s.Bytes }),
		row("direct_reads_total", "System calls for that.", http.Counter, func(s segment.ColdStats) int64 { return s.Reads }),
		row("full_total", "Reads left to the page cache for want of memory.", http.Counter, func(s segment.ColdStats) int64 { return s.Full }),
		row("often_total", "Reads left to the page cache because the range is read often.", http.Counter, func(s segment.ColdStats) int64 { return s.Often }),
		row("resident_bytes", "Memory for what is read past the page cache.", http.Gauge, func(s segment.ColdStats) int64 { return s.Resident }),
	}
}

func networkMetrics(read func() server.Stats) []http.Metric {
	row := func(name, help string, kind http.Kind, f func(server.Stats) int64) http.Metric {
		return http.Value("net_"+name, help, kind, func() int64 { return f(read()) })
	}
	return []http.Metric{
		row("connections", "Open connections.", http.Gauge, func(s server.Stats) int64 { return s.Connections }),
		row("requests_in_flight", "Requests not yet answered and sent.", http.Gauge, func(s server.Stats) int64 { return s.InFlight }),
		row("paused_connections", "Connections whose input is held back.", http.Gauge, func(s server.Stats) int64 { return s.Paused }),
		row("input_bytes", "Memory of unanswered requests, bytes.", http.Gauge, func(s server.Stats) int64 { return s.InputBytes }),
		row("accepted_total", "Connections accepted.", http.Counter, func(s server.Stats) int64 { return s.Accepted }),
		row("refused_total", "Connections over a limit.", http.Counter, func(s server.Stats) int64 { return s.Refused }),
		row("accept_errors_total", "Accepts that failed, mostly for want of file descriptors.", http.Counter, func(s server.Stats) int64 { return s.AcceptErrors }),
		row("requests_total", "Requests.", http.Counter, func(s server.Stats) int64 { return s.Requests }),
		row("received_bytes_total", "Bytes received.", http.Counter, func(s server.Stats) int64 { return s.BytesIn }),
		row("sent_bytes_total", "Bytes sent.", http.Counter, func(s server.Stats) int64 { return s.BytesOut }),
		row("sendfile_bytes_total", "Bytes sent by sendfile.", http.Counter, func(s server.Stats) int64 { return s.FileBytes }),
		row("cold_reads_total", "File ranges that were not in the page cache.", http.Counter, func(s server.Stats) int64 { return s.ColdReads }),
		{
			Name: "net_closed_total", Help: "Connections closed by the broker, by reason.", Kind: http.Counter, Labels: []string{"reason"},
			Read: func(emit func(float64, ...string)) {
				s := read()
				for _, x := range []struct {
					reason string
					n      int64
				}{
					{"slow sender", s.SlowSenders}, {"slow reader", s.SlowReaders}, {"idle", s.Idle}, {"frame too large", s.TooLarge},
					{"malformed", s.Malformed}, {"memory", s.Shed}, {"refused request", s.Failed}, {"panic", s.Panics},
				} {
					emit(float64(x.n), x.reason)
				}
			},
		},
	}
}

func dataMetrics(read func() data.Stats) []http.Metric {
	row := func(name, help string, kind http.Kind, f func(data.Stats) int64) http.Metric {
		return http.Value(name, help, kind, func() int64 { return f(read()) })
	}
	return []http.Metric{
		row("partitions", "Open partitions.", http.Gauge, func(s data.Stats) int64 { return s.Partitions }),
		row("produce_requests_total", "Produce requests.", http.Counter, func(s data.Stats) int64 { return s.ProduceRequests }),
		row("produced_batches_total", "Record batches appended by producers.", http.Counter, func(s data.Stats) int64 { return s.Batches }),
		row("produced_records_total", "Records appended by producers.", http.Counter, func(s data.Stats) int64 { return s.Records }),
		row("produced_bytes_total", "Bytes of batches appended by producers.", http.Counter, func(s data.Stats) int64 { return s.Bytes }),
		row("rejected_batches_total", "Batches refused.", http.Counter, func(s data.Stats) int64 { return s.Rejected }),
		row("fetch_requests_total", "Fetch requests.", http.Counter, func(s data.Stats) int64 { return s.FetchRequests }),
		row("fetched_bytes_total", "Bytes of records in fetch answers.", http.Counter, func(s data.Stats) int64 { return s.FetchedBytes }),
		row("parked_fetches", "Fetches that wait for data.", http.Gauge, func(s data.Stats) int64 { return s.Parked }),
		row("cold_fetches_total", "Fetches that looked something up on the disk.", http.Counter, func(s data.Stats) int64 { return s.ColdFetches }),
		row("fetch_sessions", "Fetch sessions.", http.Gauge, func(s data.Stats) int64 { return s.Sessions }),
	}
}

// storageMetrics has a label for the log dir.
func (b *Broker) storageMetrics() []http.Metric {
	row := func(name, help string, kind http.Kind, f func(segment.DirStats) int64) http.Metric {
		return http.Metric{Name: "log_" + name, Help: help, Kind: kind, Labels: []string{"dir"}, Read: func(emit func(float64, ...string)) {
			for _, d := range b.dirs {
				emit(float64(f(d.Stats())), d.Path())
			}
		}}
	}
	return []http.Metric{
		{Name: "log_dir_offline", Help: "1 if the log dir can no longer be written.", Kind: http.Gauge, Labels: []string{"dir"}, Read: func(emit func(float64, ...string)) {
			for _, d := range b.dirs {
				offline := 0.0
				if d.Err() != nil {
					offline = 1
				}
				emit(offline, d.Path())
			}
		}},
		{Name: "log_write_duration_seconds", Help: "How long write operations took.", Labels: []string{"dir"}, ReadHistogram: func(emit func(http.Histogram, ...string)) {
			for _, d := range b.dirs {
				emit(writeDurations(d.Stats()), d.Path())
			}
		}},
		row("appended_batches_total", "Batches appended.", http.Counter, func(s segment.DirStats) int64 { return s.AppendedBatches }),
		row("appended_bytes_total", "Bytes appended.", http.Counter, func(s segment.DirStats) int64 { return s.AppendedBytes }),
		row("writes_total", "Write operations.", http.Counter, func(s segment.DirStats) int64 { return s.Writes }),
		row("written_bytes_total", "Bytes written, with the blocks written again.", http.Counter, func(s segment.DirStats) int64 { return s.WrittenBytes }),
		row("flushes_total", "Durable write operations.", http.Counter, func(s segment.DirStats) int64 { return s.Flushes }),
		row("queued_logs", "Logs that wait for the writer.", http.Gauge, func(s segment.DirStats) int64 { return s.QueuedLogs }),
		row("writes_in_flight", "Write operations under way.", http.Gauge, func(s segment.DirStats) int64 { return s.InFlight }),
		row("segment_rolls_total", "Segments begun.", http.Counter, func(s segment.DirStats) int64 { return s.SegmentRolls }),
		row("segments_deleted_total", "Segments deleted.", http.Counter, func(s segment.DirStats) int64 { return s.SegmentsDeleted }),
		row("no_space_total", "Allocations refused by a full disk.", http.Counter, func(s segment.DirStats) int64 { return s.NoSpace }),
		row("slab_read_bytes_total", "Bytes served from memory.", http.Counter, func(s segment.DirStats) int64 { return s.SlabReadBytes }),
		row("file_read_bytes_total", "Bytes served as file ranges.", http.Counter, func(s segment.DirStats) int64 { return s.FileReadBytes }),
		row("journal_turns_total", "Commits by the journal, each of one log or many.", http.Counter, func(s segment.DirStats) int64 { return s.JournalTurns }),
		row("journal_logs_total", "Logs in the turns of the journal.", http.Counter, func(s segment.DirStats) int64 { return s.JournalLogs }),
		row("journal_bytes_total", "Bytes written to the journal.", http.Counter, func(s segment.DirStats) int64 { return s.JournalBytes }),
		row("direct_commits_total", "Commits by a write to the segment itself.", http.Counter, func(s segment.DirStats) int64 { return s.DirectCommits }),
		row("spills_total", "Writes to segments of what the journal made durable.", http.Counter, func(s segment.DirStats) int64 { return s.Spills }),
		row("spilled_bytes_total", "Bytes of them.", http.Counter, func(s segment.DirStats) int64 { return s.SpilledBytes }),
		row("checkpoints_total", "Checkpoints of all logs of the dir.", http.Counter, func(s segment.DirStats) int64 { return s.Checkpoints }),
		row("replayed_bytes_total", "Bytes taken from the journal when the dir was opened.", http.Counter, func(s segment.DirStats) int64 { return s.ReplayedBytes }),
		row("recovered_bytes_total", "Bytes that recovery read when the dir was opened.", http.Counter, func(s segment.DirStats) int64 { return s.RecoveredBytes }),
		row("corrupt_reads_total", "Reads that met damage.", http.Counter, func(s segment.DirStats) int64 { return s.CorruptReads }),
		row("corrupt_ranges_total", "Damaged ranges found since the start, by recovery and by scrubbing.", http.Counter, func(s segment.DirStats) int64 { return s.CorruptRanges }),
		row("scrubbed_bytes_total", "Bytes of closed segments read again and checked.", http.Counter, func(s segment.DirStats) int64 { return s.ScrubbedBytes }),
		row("scrub_passes_total", "Times that all closed segments were checked.", http.Counter, func(s segment.DirStats) int64 { return s.ScrubPasses }),
		row("scrub_last_pass_timestamp_seconds", "When that last was done, seconds since the epoch; 0 if never.", http.Gauge, func(s segment.DirStats) int64 { return s.ScrubPassEndMs / 1000 }),
		row("slab_mapped_bytes", "Memory mapped for slabs.", http.Gauge, func(s segment.DirStats) int64 { return s.Slabs.Mapped }),
		row("slab_used_bytes", "Memory of slabs in use.", http.Gauge, func(s segment.DirStats) int64 { return s.Slabs.InUse }),
		row("slab_refused_total", "Appends refused for want of slabs.", http.Counter, func(s segment.DirStats) int64 { return s.Slabs.Refused }),
	}
}

// writeDurations adds up the buckets, as Prometheus wants them.
func writeDurations(s segment.DirStats) http.Histogram {
	h := http.Histogram{Sum: time.Duration(s.WriteLatencySumNs).Seconds(), Buckets: map[float64]uint64{}}
	for i, n := range s.WriteLatency {
		h.Count += uint64(n)
		if i < segment.LatencyBuckets-1 {
			h.Buckets[segment.LatencyBound(i).Seconds()] = h.Count
		}
	}
	return h
}

func groupMetrics(read func() group.Stats) []http.Metric {
	return []http.Metric{
		{Name: "groups", Help: "Consumer groups by state.", Kind: http.Gauge, Labels: []string{"state"}, Read: func(emit func(float64, ...string)) {
			for state, n := range read().Groups {
				emit(float64(n), state.String())
			}
		}},
		http.Value("group_members", "Members of all groups.", http.Gauge, func() int64 { return int64(read().Members) }),
		http.Value("committed_offsets", "Committed offsets kept.", http.Gauge, func() int64 { return int64(read().Offsets) }),
	}
}
