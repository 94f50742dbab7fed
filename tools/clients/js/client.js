// Drives the JavaScript clients of Kafka for the client matrix: kafkajs and @platformatic/kafka.
// Reads one command (JSON) from standard input, carries it out and prints JSON lines; ../README.md describes both.
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers'

const modules = { kafkajs: './kafkajs.js', '@platformatic/kafka': './platformatic.js' }

const command = JSON.parse(readFileSync(0, 'utf8'))
const limit = setTimeout(() => {
  console.error('time limit')
  process.exit(1)
}, command.timeout_s * 1000)
try {
  const client = await import(modules[command.client])
  await client[command.op](command)
  clearTimeout(limit)
  // Some clients keep timers for a while after they were closed.
  process.stdout.write('', () => process.exit(0))
} catch (error) {
  console.error(error)
  process.exit(1)
}
