package rig

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// CreateTopic makes a topic of one replica.
func CreateTopic(ctx context.Context, addr, topic string, partitions int, config map[string]*string) error {
	return WithAdmin(addr, func(adm *kadm.Client) error {
		res, err := adm.CreateTopic(ctx, int32(partitions), 1, config, topic)
		if err = errors.Join(err, res.Err); err != nil {
			return fmt.Errorf("create topic %s: %w", topic, err)
		}
		return nil
	})
}

// WithAdmin runs f with a new admin client, which has no memory of an earlier broker.
func WithAdmin(addr string, f func(*kadm.Client) error) error {
	cl, err := kgo.NewClient(ClientOptions(addr)...)
	if err != nil {
		return err
	}
	defer cl.Close()
	return f(kadm.NewClient(cl))
}
