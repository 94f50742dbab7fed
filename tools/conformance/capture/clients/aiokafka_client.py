"""aiokafka: plain and idempotent producers, a group that commits."""
import asyncio
import sys
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

seeds, topic = sys.argv[1], "capture-aiokafka"


async def main():
    for options in ({}, {"enable_idempotence": True}, {"compression_type": "gzip"}, {"acks": 1}):
        p = AIOKafkaProducer(bootstrap_servers=seeds, **options)
        await p.start()
        for i in range(20):
            await p.send_and_wait(topic, b"v%d" % i, key=b"k")
        await p.stop()
    c = AIOKafkaConsumer(topic, bootstrap_servers=seeds, group_id="capture-aiokafka", auto_offset_reset="earliest", enable_auto_commit=False)
    await c.start()
    for _ in range(80):
        await c.getone()
    await c.commit()
    tp = next(iter(c.assignment()))
    await c.committed(tp)
    await c.offsets_for_times({tp: 1})
    await c.end_offsets([tp])
    await c.stop()


asyncio.run(main())
