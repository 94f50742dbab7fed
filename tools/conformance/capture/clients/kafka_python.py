"""kafka-python: topics, records of every codec, a group that commits, offsets by time."""
import sys
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic

seeds, topic = sys.argv[1], "capture-kafka-python"
admin = KafkaAdminClient(bootstrap_servers=seeds)
admin.create_topics([NewTopic(topic, 2, 1)])
for codec in (None, "gzip", "lz4", "snappy", "zstd"):
    try:
        p = KafkaProducer(bootstrap_servers=seeds, compression_type=codec, acks="all")
    except (AssertionError, RuntimeError):
        continue  # the library of this codec is not installed
    for i in range(20):
        p.send(topic, key=b"k%d" % i, value=b"v" * 50, headers=[("h", b"1")])
    p.flush()
    p.close()
c = KafkaConsumer(topic, bootstrap_servers=seeds, group_id="capture-kafka-python", auto_offset_reset="earliest", consumer_timeout_ms=4000)
print(sum(1 for _ in c), "records")
c.commit()
tp = TopicPartition(topic, 0)
c.offsets_for_times({tp: 1})
c.end_offsets([tp])
c.close()
for call in (lambda: admin.describe_topics([topic]), admin.list_topics, admin.list_groups, lambda: admin.delete_topics([topic])):
    try:
        call()
    except Exception as e:  # names of admin calls change between versions
        print("left out:", e)
admin.close()
