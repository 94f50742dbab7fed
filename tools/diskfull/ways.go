package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"millrace/tools/rig"
)

// way is one of several ways to do a thing, with its name.
type way struct {
	name string
	do   func(*rounds, context.Context) error
}

// freeing are the ways in which space returns. The last one's disk is filled by somebody else.
var freeing = []way{
	{"retention", (*rounds).freeByRetention},
	{"deletion of the topic", (*rounds).freeByDeletion},
	{"DeleteRecords", (*rounds).freeByDeleteRecords},
	{"removal of the other file", func(r *rounds, _ context.Context) error { return r.ballast.remove() }},
}

// restarting are the ways in which the broker is restarted on the full disk. Their number has no factor in common with
// that of freeing, so that as many rounds as their product have each with each.
var restarting = []way{
	{"no restart", func(*rounds, context.Context) error { return nil }},
	{"kill -9", (*rounds).kill},
	{"clean restart", (*rounds).stop},
	{"kill -9 twice", func(r *rounds, ctx context.Context) error {
		if err := r.kill(ctx); err != nil {
			return err
		}
		return r.kill(ctx)
	}},
	{"clean restart, then kill -9", func(r *rounds, ctx context.Context) error {
		if err := r.stop(ctx); err != nil {
			return err
		}
		return r.kill(ctx)
	}},
}

func (r *rounds) kill(ctx context.Context) error {
	if err := r.broker.Kill(); err != nil {
		return err
	}
	return r.serveAgain(ctx)
}

func (r *rounds) stop(ctx context.Context) error {
	if err := r.broker.Stop(ctx); err != nil {
		return err
	}
	return r.serveAgain(ctx)
}

// serveAgain starts the broker on the full disk.
func (r *rounds) serveAgain(ctx context.Context) error {
	r.filler.close()
	took, err := r.broker.StartServing(ctx, keptTopic, keptPartitions)
	if err != nil {
		return fmt.Errorf("start on the full disk: %w", err)
	}
	r.restarts = append(r.restarts, took)
	return nil
}

func (r *rounds) freeByRetention(ctx context.Context) error {
	return rig.WithAdmin(r.o.listen, func(adm *kadm.Client) error {
		res, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Name: "retention.bytes", Value: kadm.StringPtr("1048576")}}, r.filler.topic)
		if err == nil && len(res) > 0 {
			err = res[0].Err
		}
		return wrap("shorten the retention", err)
	})
}

func (r *rounds) freeByDeletion(ctx context.Context) error {
	defer func() { r.filler.close(); r.filler = nil }()
	return deleteTopic(ctx, r.o.listen, r.filler.topic)
}

func (r *rounds) freeByDeleteRecords(ctx context.Context) error {
	return rig.WithAdmin(r.o.listen, func(adm *kadm.Client) error {
		var offsets kadm.Offsets
		for p := range r.filler.partitions {
			offsets.AddOffset(r.filler.topic, p, -1, -1)
		}
		res, err := adm.DeleteRecords(ctx, offsets)
		return wrap("delete records", errors.Join(err, res.Error()))
	})
}

func deleteTopic(ctx context.Context, addr, topic string) error {
	return rig.WithAdmin(addr, func(adm *kadm.Client) error {
		res, err := adm.DeleteTopics(ctx, topic)
		return wrap("delete topic "+topic, errors.Join(err, res.Error()))
	})
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// eventually does f again until it succeeds or ctx ends. What clients see on the way are errors that they retry.
func eventually(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
