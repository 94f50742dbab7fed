"""aiokafka, on asyncio."""

import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalGenerationError, RebalanceInProgressError

import wire


def produce(command):
    asyncio.run(asyncio.wait_for(_produce(command), command["timeout_s"]))


def consume(command):
    asyncio.run(asyncio.wait_for(_consume(command), command["timeout_s"]))


def group(command):
    asyncio.run(asyncio.wait_for(_group(command), command["timeout_s"]))


async def _produce(command):
    records = list(wire.read_records(command["records"]))
    for target in command["targets"]:
        codec = None if target["codec"] == "none" else target["codec"]
        producer = AIOKafkaProducer(bootstrap_servers=command["brokers"], compression_type=codec, acks="all",
                                    enable_idempotence=target["idempotent"], max_request_size=2 << 20)
        await producer.start()
        try:
            # One after the other into the batches: without idempotence aiokafka sends one request per partition at a time.
            sent = [await producer.send(target["topic"], value=value, key=key, partition=partition, timestamp_ms=timestamp,
                                        headers=headers)
                    for partition, timestamp, key, value, headers in records]
            await asyncio.gather(*sent)
        finally:
            await producer.stop()
        wire.print_line(event="produced", topic=target["topic"], count=len(records))


def _print(m, member=None):
    wire.print_record(m.topic, m.partition, m.offset, m.timestamp, m.key, m.value, m.headers, member)


async def _consume(command):
    consumer = AIOKafkaConsumer(bootstrap_servers=command["brokers"], enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    try:
        consumer.assign([TopicPartition(t["topic"], p) for t in command["topics"] for p in range(len(t["ends"]))])
        left = sum(sum(t["ends"]) for t in command["topics"])
        while left:
            for messages in (await consumer.getmany(timeout_ms=500)).values():
                for m in messages:
                    _print(m)
                left -= len(messages)
    finally:
        await consumer.stop()


class _Listener(ConsumerRebalanceListener):
    def __init__(self, name, progress):
        self.name, self.progress = name, progress

    def on_partitions_revoked(self, revoked):
        self.progress.hold(self.name, 0)

    def on_partitions_assigned(self, assigned):
        self.progress.hold(self.name, len(assigned))


async def _member(command, name, progress):
    consumer = AIOKafkaConsumer(bootstrap_servers=command["brokers"], group_id=command["group"], enable_auto_commit=False,
                                auto_offset_reset="earliest", heartbeat_interval_ms=500)
    consumer.subscribe([command["topic"]], listener=_Listener(name, progress))
    await consumer.start()
    try:
        while not progress.done():
            for tp, messages in (await consumer.getmany(timeout_ms=200)).items():
                messages = [m for m in messages if m.offset < command["until"]]
                for m in messages:
                    _print(m, name)
                if not messages:
                    continue
                try:
                    await consumer.commit({tp: messages[-1].offset + 1})
                except (CommitFailedError, IllegalGenerationError, RebalanceInProgressError):
                    continue  # the partition moved while we read: its next owner reads the records again
                progress.commit(tp.partition, messages[-1].offset + 1)
    finally:
        await consumer.stop()


async def _group(command):
    progress = wire.Progress(command)
    await asyncio.gather(*(_member(command, name, progress) for name in "AB"))
