"""librdkafka by confluent-kafka: idempotent producer, group, admin calls."""
import sys
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic

seeds, topic = sys.argv[1], "capture-confluent"
admin = AdminClient({"bootstrap.servers": seeds})


def each(futures):
    for f in futures.values():
        f.result()


each(admin.create_topics([NewTopic(topic, 2, 1, config={"retention.ms": "100000"})]))
for options in ({"enable.idempotence": True}, {"compression.type": "zstd"}, {"compression.type": "lz4"}, {"acks": "0"}):
    p = Producer({"bootstrap.servers": seeds, **options})
    for i in range(20):
        p.produce(topic, b"v%d" % i, key=b"k", headers={"h": b"1"})
    p.flush()
for extra in ({}, {"group.instance.id": "i1", "partition.assignment.strategy": "cooperative-sticky"}):
    c = Consumer({"bootstrap.servers": seeds, "group.id": "capture-confluent" + str(len(extra)), "auto.offset.reset": "earliest", **extra})
    c.subscribe([topic])
    seen = 0
    for _ in range(100):
        seen += c.poll(0.2) is not None
        if seen >= 60:
            break
    c.commit(asynchronous=False)
    c.committed([TopicPartition(topic, 0)])
    c.offsets_for_times([TopicPartition(topic, 0, 1)])
    c.get_watermark_offsets(TopicPartition(topic, 0))
    c.close()
each(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)]))
each(admin.create_partitions([NewPartitions(topic, 3)]))
admin.list_consumer_groups().result()
each(admin.describe_consumer_groups(["capture-confluent0"]))
each(admin.delete_records([TopicPartition(topic, 0, -1)]))
each(admin.delete_consumer_groups(["capture-confluent0"]))
each(admin.delete_topics([topic]))
