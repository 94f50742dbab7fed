package broker

import (
	"cmp"
	"time"

	"millrace/broker/config"
	"millrace/broker/group"
	"millrace/net/server"
)

// groupConfig is the part of the configuration that the group coordinator follows.
func groupConfig(c *config.Broker) group.Config {
	return group.Config{
		MinSessionTimeoutMs:      c.GroupMinSessionTimeoutMs,
		MaxSessionTimeoutMs:      c.GroupMaxSessionTimeoutMs,
		InitialRebalanceDelayMs:  c.GroupInitialRebalanceDelayMs,
		MaxSize:                  c.GroupMaxSize,
		OffsetsTopicPartitions:   c.OffsetsTopicPartitions,
		OffsetsTopicSegmentBytes: c.OffsetsTopicSegmentBytes,
		OffsetsRetentionMinutes:  c.OffsetsRetentionMinutes,
		RetentionCheckMs:         c.OffsetsRetentionCheckMs,
		MetadataMaxBytes:         c.OffsetMetadataMaxBytes,
		CommitTimeoutMs:          c.OffsetsCommitTimeoutMs,
	}
}

// serverOptions is the part that the listeners and connections follow.
func (b *Broker) serverOptions(c *config.Broker, cores int, h server.Handler) server.Options {
	o := server.Options{
		Handler:          h,
		Logger:           b.log,
		Bells:            &b.bells,
		Loops:            cmp.Or(c.EventLoops, cores),
		MaxFrameBytes:    int(c.SocketRequestMaxBytes),
		MaxControlBytes:  min(decodeBudget, int(c.SocketRequestMaxBytes)),
		MaxConnections:   int(c.MaxConnections),
		MaxConnectionsIP: int(c.MaxConnectionsPerIP),
		MaxIdle:          time.Duration(c.ConnectionsMaxIdleMs) * time.Millisecond,
		// A batch stays charged here until it is written. With half of the slabs'
		// budget, reading pauses before an append finds no slab. One frame of the
		// largest size must fit.
		MaxInputBytes: max(c.SlabBytes*int64(len(c.LogDirs))/2, int64(c.SocketRequestMaxBytes)),
	}
	for _, l := range c.Listeners {
		o.Listeners = append(o.Listeners, server.ListenerConfig{
			Name: l.Name, Host: l.Host, Port: int(l.Port),
			AdvertisedHost: l.AdvertisedHost, AdvertisedPort: l.AdvertisedPort,
		})
	}
	return o
}
