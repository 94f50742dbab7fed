package broker

import (
	"millrace/net/server"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxAPIKey is the highest key of the protocol that the table has room for.
const maxAPIKey = 94

// api is one row of the table of APIs: key, served versions, handler. Exactly one
// of hot and control is set.
type api struct {
	key, min, max int16

	// hot begins the request on its event loop. With wait false it must not block
	// and may answer false, having done nothing: it is then called again with wait
	// true on a goroutine, after the connection's earlier requests.
	hot func(r *server.Request, wait bool) bool

	// control runs on a goroutine of the connection, in order. It may block, and may
	// reply later, from any goroutine.
	control func(r *server.Request, req kmsg.Request, reply func(kmsg.Response))
}

// now makes a row whose handler returns its answer.
func now[Req kmsg.Request, Resp kmsg.Response](key kmsg.Key, min, max int16, f func(server.Client, Req) Resp) *api {
	return &api{key: key.Int16(), min: min, max: max, control: func(r *server.Request, req kmsg.Request, reply func(kmsg.Response)) {
		reply(f(r.Client(), req.(Req)))
	}}
}

// later makes a row whose handler replies when it is ready.
func later[Req kmsg.Request, Resp kmsg.Response](key kmsg.Key, min, max int16, f func(server.Client, Req, func(Resp))) *api {
	return &api{key: key.Int16(), min: min, max: max, control: func(r *server.Request, req kmsg.Request, reply func(kmsg.Response)) {
		f(r.Client(), req.(Req), func(resp Resp) { reply(resp) })
	}}
}

// hot makes a row that runs on the event loop.
func hot(key kmsg.Key, min, max int16, f func(*server.Request, bool) bool) *api {
	return &api{key: key.Int16(), min: min, max: max, hot: f}
}

// table is every API this broker serves. What is not here is not announced.
func (b *Broker) table(d *dispatcher) []*api {
	return []*api{
		hot(kmsg.Produce, 3, 13, b.data.BeginProduce),
		hot(kmsg.Fetch, 4, 18, b.data.BeginFetch),
		now(kmsg.ListOffsets, 1, 11, b.data.ListOffsets),
		now(kmsg.Metadata, 0, 13, b.admin.Metadata),
		later(kmsg.OffsetCommit, 2, 10, b.groups.OffsetCommit),
		now(kmsg.OffsetFetch, 1, 10, b.groups.OffsetFetch),
		now(kmsg.FindCoordinator, 0, 6, b.groups.FindCoordinator),
		later(kmsg.JoinGroup, 0, 9, b.groups.JoinGroup),
		now(kmsg.Heartbeat, 0, 4, b.groups.Heartbeat),
		later(kmsg.LeaveGroup, 0, 5, b.groups.LeaveGroup),
		later(kmsg.SyncGroup, 0, 5, b.groups.SyncGroup),
		now(kmsg.DescribeGroups, 0, 6, b.groups.DescribeGroups),
		now(kmsg.ListGroups, 0, 5, b.groups.ListGroups),
		{key: kmsg.ApiVersions.Int16(), min: 0, max: 5, control: func(r *server.Request, req kmsg.Request, reply func(kmsg.Response)) {
			reply(d.apiVersions(r, req.(*kmsg.ApiVersionsRequest)))
		}},
		now(kmsg.CreateTopics, 2, 7, b.controller.CreateTopics),
		now(kmsg.DeleteTopics, 1, 6, b.controller.DeleteTopics),
		now(kmsg.DeleteRecords, 0, 2, b.data.DeleteRecords),
		now(kmsg.InitProducerID, 0, 5, b.producerIDs.InitProducerID),
		now(kmsg.OffsetForLeaderEpoch, 2, 4, b.data.OffsetForLeaderEpoch),
		now(kmsg.DescribeConfigs, 1, 4, b.admin.DescribeConfigs),
		now(kmsg.AlterConfigs, 0, 2, b.controller.AlterConfigs),
		now(kmsg.AlterReplicaLogDirs, 1, 2, b.data.AlterReplicaLogDirs),
		now(kmsg.DescribeLogDirs, 1, 5, b.admin.DescribeLogDirs),
		now(kmsg.CreatePartitions, 0, 3, b.controller.CreatePartitions),
		later(kmsg.DeleteGroups, 0, 3, b.groups.DeleteGroups),
		now(kmsg.IncrementalAlterConfigs, 0, 1, b.controller.IncrementalAlterConfigs),
		now(kmsg.AlterPartitionAssignments, 0, 1, b.controller.AlterPartitionAssignments),
		now(kmsg.ListPartitionReassignments, 0, 0, b.controller.ListPartitionReassignments),
		later(kmsg.OffsetDelete, 0, 0, b.groups.OffsetDelete),
		now(kmsg.DescribeCluster, 0, 2, b.admin.DescribeCluster),
		now(kmsg.DescribeProducers, 0, 0, b.data.DescribeProducers),
		now(kmsg.ListConfigResources, 0, 1, b.admin.ListConfigResources),
		now(kmsg.DescribeTopicPartitions, 0, 0, b.admin.DescribeTopicPartitions),
	}
}
