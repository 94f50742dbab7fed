// @platformatic/kafka.
import { Consumer, Producer } from '@platformatic/kafka'
import { Progress, printLine, printRecord, readRecords } from './wire.js'

const connection = command => ({ clientId: 'matrix', bootstrapBrokers: command.brokers.split(',') })

export async function produce (command) {
  const records = readRecords(command.records)
  for (const { topic, codec, idempotent } of command.targets) {
    const producer = new Producer({ ...connection(command), idempotent, acks: -1, compression: codec, autocreateTopics: false })
    // In pieces, so that there is more than one batch per partition.
    for (let i = 0; i < records.length; i += 8) {
      await producer.send({
        messages: records.slice(i, i + 8).map(r => ({
          topic,
          partition: r.partition,
          timestamp: BigInt(r.timestamp),
          key: r.key,
          value: r.value,
          headers: new Map(r.headers.map(([k, v]) => [Buffer.from(k), v]))
        }))
      })
    }
    await producer.close()
    printLine({ event: 'produced', topic, count: records.length })
  }
}

const print = (m, member) => printRecord({ ...m, topic: m.topic, partition: m.partition, headers: [...m.headers] }, member)

export async function consume (command) {
  let left = command.topics.reduce((sum, t) => sum + t.ends.reduce((a, b) => a + b, 0), 0)
  const consumer = new Consumer({ ...connection(command), groupId: command.group, autocommit: false, maxWaitTime: 200 })
  const stream = await consumer.consume({ topics: command.topics.map(t => t.topic), mode: 'earliest' })
  for await (const m of stream) {
    print(m)
    if (--left === 0) break
  }
  await consumer.close(true)
}

async function member (command, name, progress) {
  const { topic } = command
  const consumer = new Consumer({
    ...connection(command), groupId: command.group, autocommit: false, maxWaitTime: 200, heartbeatInterval: 500, sessionTimeout: 10000
  })
  consumer.on('consumer:group:join', e => {
    const mine = e.assignments?.find(a => a.topic === topic)
    progress.hold(name, mine ? mine.partitions.length : 0)
  })
  const stream = await consumer.consume({ topics: [topic], mode: 'committed', fallbackMode: 'earliest' })
  const failed = new Promise((_resolve, reject) => stream.on('error', reject))
  stream.on('data', async m => {
    const offset = Number(m.offset)
    if (offset >= command.until) return
    print(m, name)
    await m.commit()
    progress.commit(m.partition, offset + 1)
  })
  await Promise.race([progress.done, failed])
  await consumer.close(true)
}

export async function group (command) {
  const progress = new Progress(command)
  await Promise.all(['A', 'B'].map(name => member(command, name, progress)))
}
