"""kafka-python, in pure Python."""

import threading
import time

from kafka import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import CommitFailedError, IllegalGenerationError, RebalanceInProgressError
from kafka.structs import OffsetAndMetadata

import wire


def produce(command):
    records = list(wire.read_records(command["records"]))
    for target in command["targets"]:
        codec = None if target["codec"] == "none" else target["codec"]
        producer = KafkaProducer(bootstrap_servers=command["brokers"], compression_type=codec, acks="all", linger_ms=5,
                                 enable_idempotence=target["idempotent"], max_request_size=2 << 20,
                                 max_in_flight_requests_per_connection=5 if target["idempotent"] else 1)
        sent = [producer.send(target["topic"], value=value, key=key, partition=partition, timestamp_ms=timestamp, headers=headers)
                for partition, timestamp, key, value, headers in records]
        for s in sent:
            s.get(command["timeout_s"])
        producer.close()
        wire.print_line(event="produced", topic=target["topic"], count=len(records))


def _print(m, member=None):
    wire.print_record(m.topic, m.partition, m.offset, m.timestamp, m.key, m.value, m.headers, member)


def consume(command):
    consumer = KafkaConsumer(bootstrap_servers=command["brokers"], enable_auto_commit=False, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(t["topic"], p) for t in command["topics"] for p in range(len(t["ends"]))])
    left = sum(sum(t["ends"]) for t in command["topics"])
    limit = time.monotonic() + command["timeout_s"]
    while left:
        if time.monotonic() > limit:
            raise SystemExit("%d records missing" % left)
        for messages in consumer.poll(500).values():
            for m in messages:
                _print(m)
            left -= len(messages)
    consumer.close()


class _Listener(ConsumerRebalanceListener):
    def __init__(self, name, progress):
        self.name, self.progress = name, progress

    def on_partitions_revoked(self, revoked):
        self.progress.hold(self.name, 0)

    def on_partitions_assigned(self, assigned):
        self.progress.hold(self.name, len(assigned))


def _member(command, name, progress, failures):
    consumer = KafkaConsumer(bootstrap_servers=command["brokers"], group_id=command["group"], enable_auto_commit=False,
                             auto_offset_reset="earliest", heartbeat_interval_ms=500)
    limit = time.monotonic() + command["timeout_s"]
    try:
        consumer.subscribe([command["topic"]], listener=_Listener(name, progress))
        while not progress.done() and not failures:
            if time.monotonic() > limit:
                raise RuntimeError("time limit")
            for tp, messages in consumer.poll(200).items():
                messages = [m for m in messages if m.offset < command["until"]]
                for m in messages:
                    _print(m, name)
                if not messages:
                    continue
                end = messages[-1].offset + 1
                try:
                    consumer.commit({tp: OffsetAndMetadata(end, "", -1)})
                except (CommitFailedError, IllegalGenerationError, RebalanceInProgressError):
                    continue  # the partition moved while we read: its next owner reads the records again
                progress.commit(tp.partition, end)
    except Exception as e:  # the other member must not wait for ever
        failures.append((name, repr(e)))
    finally:
        consumer.close()


def group(command):
    progress, failures = wire.Progress(command), []
    members = [threading.Thread(target=_member, args=(command, name, progress, failures)) for name in "AB"]
    for m in members:
        m.start()
    for m in members:
        m.join()
    if failures:
        raise SystemExit("member %s: %s" % failures[0])
