// The JSON lines that the client matrix and its clients speak (described in ../README.md).
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

// Above this length only length and checksum are printed.
const largeBytes = 4096

const unbase64 = text => (text === null ? null : Buffer.from(text, 'base64'))

export function readRecords (path) {
  return readFileSync(path, 'utf8').trimEnd().split('\n').map(line => {
    const r = JSON.parse(line)
    return { ...r, key: unbase64(r.key), value: unbase64(r.value), headers: r.headers.map(([k, v]) => [k, unbase64(v)]) }
  })
}

export function text (data) {
  if (data === null || data === undefined) return null
  if (data.length > largeBytes) return `sha256:${data.length}:${createHash('sha256').update(data).digest('hex')}`
  return data.toString('base64')
}

export function printLine (line) {
  process.stdout.write(JSON.stringify(line) + '\n')
}

export function printRecord ({ topic, partition, offset, timestamp, key, value, headers }, member) {
  printLine({
    topic,
    partition,
    offset: Number(offset),
    timestamp: Number(timestamp),
    key: text(key),
    value: text(value),
    headers: headers.map(([k, v]) => [k.toString(), text(v)]),
    member
  })
}

// Progress is what the two members of a group have reached together; done resolves when both worked and every
// partition is committed up to the wanted offset.
export class Progress {
  constructor (command) {
    this.command = command
    this.assigned = { A: 0, B: 0 }
    this.ready = false
    this.committed = new Map()
    this.done = new Promise(resolve => { this.resolve = resolve })
  }

  // hold notes how many partitions a member holds now, and announces once that both hold some.
  hold (member, partitions) {
    this.assigned[member] = partitions
    const { A, B } = this.assigned
    if (!this.ready && A > 0 && B > 0 && A + B === this.command.partitions) {
      this.ready = true
      printLine({ event: 'ready' })
    }
    this.finish()
  }

  commit (partition, offset) {
    printLine({ event: 'committed', partition, offset })
    this.committed.set(partition, offset)
    this.finish()
  }

  finish () {
    const { partitions, until } = this.command
    if (this.ready && this.committed.size === partitions && [...this.committed.values()].every(o => o >= until)) this.resolve()
  }
}
