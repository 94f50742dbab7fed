"""confluent-kafka, which is librdkafka."""

import threading
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

import wire


def produce(command):
    records = list(wire.read_records(command["records"]))
    for target in command["targets"]:
        failures = []
        producer = Producer({
            "bootstrap.servers": command["brokers"], "compression.type": target["codec"], "acks": "all",
            "enable.idempotence": target["idempotent"], "max.in.flight": 5 if target["idempotent"] else 1,
            "message.max.bytes": 2 << 20, "linger.ms": 5,
        })
        for partition, timestamp, key, value, headers in records:
            producer.produce(target["topic"], value=value, key=key, partition=partition, timestamp=timestamp,
                             headers=headers, on_delivery=lambda err, _: err and failures.append(err))
        if producer.flush(command["timeout_s"]) or failures:
            raise SystemExit("produce to %s: %s" % (target["topic"], failures or "not all delivered"))
        wire.print_line(event="produced", topic=target["topic"], count=len(records))


def _print(message, member=None):
    wire.print_record(message.topic(), message.partition(), message.offset(), message.timestamp()[1], message.key(),
                      message.value(), message.headers(), member)


def consume(command):
    consumer = Consumer({"bootstrap.servers": command["brokers"], "group.id": command["group"], "enable.auto.commit": False})
    consumer.assign([TopicPartition(t["topic"], p, 0) for t in command["topics"] for p in range(len(t["ends"]))])
    left = sum(sum(t["ends"]) for t in command["topics"])
    limit = time.monotonic() + command["timeout_s"]
    while left:
        if time.monotonic() > limit:
            raise SystemExit("%d records missing" % left)
        for message in consumer.consume(500, 0.5):
            if message.error():
                raise KafkaException(message.error())
            _print(message)
            left -= 1
    consumer.close()


def _member(command, name, progress, failures):
    consumer = Consumer({
        "bootstrap.servers": command["brokers"], "group.id": command["group"], "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "heartbeat.interval.ms": 500,
    })

    def assigned(_, partitions):
        progress.hold(name, len(partitions))

    consumer.subscribe([command["topic"]], on_assign=assigned, on_revoke=lambda *_: progress.hold(name, 0),
                       on_lost=lambda *_: progress.hold(name, 0))
    limit = time.monotonic() + command["timeout_s"]
    try:
        while not progress.done() and not failures:
            if time.monotonic() > limit:
                raise RuntimeError("time limit")
            message = consumer.poll(0.2)
            if message is None:
                continue
            if message.error():
                raise KafkaException(message.error())
            if message.offset() >= command["until"]:
                continue
            _print(message, name)
            try:
                consumer.commit(message, asynchronous=False)
            except KafkaException as e:
                # The partition moved while we read: its next owner reads the record again.
                if e.args[0].code() not in (KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION):
                    raise
                continue
            progress.commit(message.partition(), message.offset() + 1)
    except Exception as e:  # the other member must not wait for ever
        failures.append((name, e))
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
