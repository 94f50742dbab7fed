package deps

// rules is the order of imports. A line
//
//	a b < c d
//
// says: c and d may import a and b, and whatever these may. Packages on one side of a line do not import each other
// unless another line says so. NAME/... is a tree of programs, whose parts may import each other and which nothing
// else imports. A package that is not here is an error: put it in its place first.
const rules = `
	# Where a record is, and how it gets to the disk.
	tools/invariant < index segment/batch segment/slab segment/cold segment/uring segment/journal segment/segmenttest;
	segment/batch < segment/producer;
	index segment/batch segment/producer segment/slab segment/cold segment/uring segment/journal < segment;
	segment < segment/compact replication;

	# Bytes in and out. It knows frames, not topics.
	tools/invariant < net/wire;
	net/wire < net/server net/client;
	net/server net/client < replication;

	# What the protocol means.
	replication < broker/config broker/auth broker/quota broker/purgatory broker/http broker/coordinator;
	broker/config < broker/meta;
	broker/meta broker/auth broker/quota broker/purgatory < broker/data broker/controller broker/admin;
	broker/meta broker/coordinator < broker/group broker/txn broker/share broker/streams;
	segment/compact broker/data broker/controller broker/admin broker/group broker/txn broker/share broker/streams broker/http < broker;

	# Programs and tools.
	broker < broker/brokertest;
	tools/program < tools/crash/... tools/diskfull/... tools/soak/... tools/partitions bench/...;
	tools/rig/history < tools/rig;
	tools/rig tools/rig/history < tools/crash/... tools/diskfull/... tools/soak/... tools/partitions;
	broker < tools/millrace/... tools/crash/... tools/diskfull/... tools/soak/... tools/partitions tools/conformance/... tools/clients/... tools/systemd tools/deps bench/...;
`

// testSupport are the packages that only tests import, and what they are built on.
var testSupport = map[string]string{
	"broker/meta/metatest":         "broker/meta",
	"replication/replicationtest":  "replication",
	"broker/brokertest":            "broker",
	"segment/segmenttest":          "segment",
	"segment/crashimages":          "segment",
	"broker/coordinator/coordtest": "broker/coordinator",
}
