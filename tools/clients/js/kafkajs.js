// kafkajs. Its headers are an object: values of one key are an array, and the order between keys is that of the object.
import kafkajs from 'kafkajs'
import LZ4 from 'kafkajs-lz4'
import Snappy from 'kafkajs-snappy'
import zlib from 'node:zlib'
import { Progress, printLine, printRecord, readRecords } from './wire.js'

const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = kafkajs
CompressionCodecs[CompressionTypes.Snappy] = Snappy
CompressionCodecs[CompressionTypes.LZ4] = new LZ4().codec
// @kafkajs/zstd needs a compiler; Node has zstd itself.
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => zlib.zstdCompressSync(encoder.buffer),
  decompress: async buffer => zlib.zstdDecompressSync(buffer)
})
const codecs = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD
}

const connect = command => new Kafka({ clientId: 'matrix', brokers: command.brokers.split(','), logLevel: logLevel.NOTHING })

function headerObject (headers) {
  const object = {}
  for (const [k, v] of headers) {
    if (!(k in object)) object[k] = v
    else if (Array.isArray(object[k])) object[k].push(v)
    else object[k] = [object[k], v]
  }
  return object
}

const headerList = headers => Object.entries(headers ?? {}).flatMap(([k, v]) => (Array.isArray(v) ? v : [v]).map(one => [k, one]))

export async function produce (command) {
  const records = readRecords(command.records)
  for (const { topic, codec, idempotent } of command.targets) {
    const producer = connect(command).producer({ idempotent, createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
    await producer.connect()
    // In pieces, so that there is more than one batch per partition.
    for (let i = 0; i < records.length; i += 8) {
      const messages = records.slice(i, i + 8).map(r => ({
        partition: r.partition,
        timestamp: String(r.timestamp),
        key: r.key,
        value: r.value,
        headers: headerObject(r.headers)
      }))
      await producer.send({ topic, acks: -1, compression: codecs[codec], messages })
    }
    await producer.disconnect()
    printLine({ event: 'produced', topic, count: records.length })
  }
}

const print = ({ topic, partition, message: m }, member) =>
  printRecord({ topic, partition, offset: m.offset, timestamp: m.timestamp, key: m.key, value: m.value, headers: headerList(m.headers) }, member)

export async function consume (command) {
  let left = command.topics.reduce((sum, t) => sum + t.ends.reduce((a, b) => a + b, 0), 0)
  const consumer = connect(command).consumer({ groupId: command.group, maxWaitTimeInMs: 200 })
  await consumer.connect()
  await consumer.subscribe({ topics: command.topics.map(t => t.topic), fromBeginning: true })
  await new Promise((resolve, reject) => {
    consumer.on('consumer.crash', e => reject(e.payload.error))
    consumer.run({
      autoCommit: false,
      eachMessage: async m => {
        print(m)
        if (--left === 0) resolve()
      }
    }).catch(reject)
  })
  await consumer.disconnect()
}

async function member (command, name, progress) {
  const { topic } = command
  const consumer = connect(command).consumer({ groupId: command.group, heartbeatInterval: 500, maxWaitTimeInMs: 200, sessionTimeout: 10000 })
  consumer.on('consumer.group_join', e => progress.hold(name, (e.payload.memberAssignment[topic] ?? []).length))
  consumer.on('consumer.rebalancing', () => progress.hold(name, 0))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const crash = new Promise((_resolve, reject) => consumer.on('consumer.crash', e => e.payload.restart || reject(e.payload.error)))
  await consumer.run({
    autoCommit: false,
    eachMessage: async m => {
      const offset = Number(m.message.offset)
      if (offset >= command.until) return
      print(m, name)
      await consumer.commitOffsets([{ topic, partition: m.partition, offset: String(offset + 1) }])
      progress.commit(m.partition, offset + 1)
    }
  })
  await Promise.race([progress.done, crash])
  await consumer.disconnect()
}

export async function group (command) {
  const progress = new Progress(command)
  await Promise.all(['A', 'B'].map(name => member(command, name, progress)))
}
