package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// write lets every client write every codec it has.
func (m *matrix) write(ctx context.Context) error {
	var names []string
	for _, c := range m.clients {
		for _, codec := range c.codecs {
			t := &topic{name: "m-" + slug(c.name) + "-" + codec, writer: c.name, codec: codec, ownTimestamps: !c.setsTimestamps()}
			for _, r := range c.writable(m.records) {
				t.partitions[r.partition] = append(t.partitions[r.partition], r)
			}
			m.topics[t.name] = t
			names = append(names, t.name)
		}
	}
	if err := m.createTopics(ctx, topicPartitions, names...); err != nil {
		return err
	}
	var failed sync.Map
	m.eachClient(func(c client) {
		began := time.Now()
		records := c.writable(m.records)
		written, err := m.writeClient(ctx, c, records)
		detail := fmt.Sprintf("%d records with each of %d codecs, %.1f s", len(records), written, time.Since(began).Seconds())
		if err == nil {
			err = m.checkEnds(ctx, c)
		}
		m.report.cell("write "+c.name, detail, err)
		if err != nil {
			failed.Store(c.name, true)
		}
	})
	// What was not written whole cannot be read whole: its failure is reported once, here.
	for name, t := range m.topics {
		if _, ok := failed.Load(t.writer); ok {
			delete(m.topics, name)
		}
	}
	m.writers = slices.DeleteFunc(slices.Clone(m.clients), func(c client) bool {
		_, ok := failed.Load(c.name)
		return ok
	})
	return nil
}

// eachClient calls f for each client, as many at a time as there are workers.
func (m *matrix) eachClient(f func(client)) {
	var running sync.WaitGroup
	slots := make(chan struct{}, m.workers)
	for _, c := range m.clients {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			f(c)
		})
	}
	running.Wait()
}

// writeClient returns how many codecs were written whole.
func (m *matrix) writeClient(ctx context.Context, c client, records []record) (written int, err error) {
	if c.argv == nil {
		return m.kcatWrite(ctx, c, records)
	}
	path := filepath.Join(m.dir, slug(c.name)+".records")
	if err := writeRecords(path, records); err != nil {
		return 0, err
	}
	var targets []map[string]any
	for _, codec := range c.codecs {
		// Uncompressed batches go without idempotence, so that both are seen.
		targets = append(targets, map[string]any{"topic": "m-" + slug(c.name) + "-" + codec, "codec": codec,
			"idempotent": c.idempotent && codec != "none"})
	}
	err = c.runProgram(ctx, map[string]any{"op": "produce", "brokers": m.brokers, "records": path, "targets": targets}, func(l line) {
		if l.Event == "produced" {
			written++
		}
	})
	return written, err
}

// checkEnds compares the end offsets of what a client wrote with what it should have written.
func (m *matrix) checkEnds(ctx context.Context, c client) error {
	var names []string
	for _, t := range m.topics {
		if t.writer == c.name {
			names = append(names, t.name)
		}
	}
	ends, err := m.endOffsets(ctx, names...)
	if err != nil {
		return err
	}
	for _, name := range names {
		for p, want := range m.topics[name].ends() {
			got, ok := ends.Lookup(name, int32(p))
			if !ok || got.Err != nil || got.Offset != want {
				return fmt.Errorf("%s/%d: end offset %d (%v), want %d", name, p, got.Offset, got.Err, want)
			}
		}
	}
	return nil
}
