package config

import "strings"

// kafkaKeys are configs of Kafka 4.4 beyond the table: they are accepted, so that a server.properties file of Kafka
// loads as it is, and have no effect.
var kafkaKeys = set(`
	add.partitions.to.txn.retry.backoff.max.ms
	add.partitions.to.txn.retry.backoff.ms
	alter.config.policy.class.name
	alter.log.dirs.replication.quota.window.num
	alter.log.dirs.replication.quota.window.size.seconds
	client.quota.callback.class
	config.providers
	connection.failed.authentication.delay.ms
	create.topic.policy.class.name
	delegation.token.expiry.check.interval.ms
	delegation.token.expiry.time.ms
	delegation.token.secret.key
	delete.records.purgatory.purge.interval.requests
	early.start.listeners
	fetch.purgatory.purge.interval.requests
	follower.fetch.last.tiered.offset.enable
	group.consumer.max.assignment.interval.ms
	group.consumer.max.heartbeat.interval.ms
	group.consumer.max.session.timeout.ms
	group.consumer.min.assignment.interval.ms
	group.consumer.min.heartbeat.interval.ms
	group.consumer.min.session.timeout.ms
	group.coordinator.append.linger.ms
	group.coordinator.background.threads
	group.coordinator.cached.buffer.max.bytes
	group.coordinator.threads
	group.share.assignment.interval.ms
	group.share.assignors
	group.share.max.assignment.interval.ms
	group.share.max.delivery.count.limit
	group.share.max.heartbeat.interval.ms
	group.share.max.partition.max.record.locks
	group.share.max.record.lock.duration.ms
	group.share.max.session.timeout.ms
	group.share.min.assignment.interval.ms
	group.share.min.delivery.count.limit
	group.share.min.heartbeat.interval.ms
	group.share.min.partition.max.record.locks
	group.share.min.record.lock.duration.ms
	group.share.min.session.timeout.ms
	group.streams.assignment.interval.ms
	group.streams.initial.rebalance.delay.ms
	group.streams.max.assignment.interval.ms
	group.streams.max.heartbeat.interval.ms
	group.streams.max.session.timeout.ms
	group.streams.max.size
	group.streams.max.standby.replicas
	group.streams.min.assignment.interval.ms
	group.streams.min.heartbeat.interval.ms
	group.streams.min.session.timeout.ms
	group.streams.rack.aware.assignment.tags
	group.streams.topology.description.plugin.class
	initial.broker.registration.timeout.ms
	max.connections.per.ip.overrides
	metric.reporters
	num.replica.alter.log.dirs.threads
	principal.builder.class
	producer.purgatory.purge.interval.requests
	queued.max.request.bytes
	replica.socket.receive.buffer.bytes
	replica.socket.timeout.ms
	replication.quota.window.num
	replication.quota.window.size.seconds
	security.providers
	share.coordinator.append.linger.ms
	share.coordinator.cached.buffer.max.bytes
	share.coordinator.load.buffer.size
	share.coordinator.snapshot.update.records.per.snapshot
	share.coordinator.state.topic.compression.codec
	share.coordinator.state.topic.segment.bytes
	share.coordinator.threads
	share.coordinator.write.timeout.ms
	share.fetch.purgatory.purge.interval.requests
	socket.connection.setup.timeout.max.ms
	socket.connection.setup.timeout.ms
	transaction.abort.timed.out.transaction.cleanup.interval.ms
	transaction.remove.expired.transaction.cleanup.interval.ms
	transaction.state.log.load.buffer.size
	transaction.state.log.segment.bytes
	inter.broker.protocol.version
	log.message.format.version
	log.message.timestamp.difference.max.ms
	log.message.downconversion.enable
	reserved.broker.max.id
	broker.id.generation.enable
	password.encoder.secret
`)

// kafkaPrefixes begin the names of further configs of Kafka and its plugins, accepted likewise.
var kafkaPrefixes = []string{
	"ssl.", "sasl.", "remote.", "rlmm.config.", "rsm.config.", "metadata.", "controller.", "metrics.", "kafka.metrics.",
	"listener.name.", "zookeeper.", "confluent.",
}

func set(lines string) map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(lines) {
		m[name] = true
	}
	return m
}

// isKafkaKey reports whether Kafka knows a config that is not in the table.
func isKafkaKey(name string) bool {
	if kafkaKeys[name] {
		return true
	}
	for _, p := range kafkaPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
