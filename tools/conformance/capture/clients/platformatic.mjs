// @platformatic/kafka: a producer and a group.
import { createRequire } from "node:module";
const { Admin, Consumer, Producer, stringDeserializers, stringSerializers } = createRequire(process.cwd() + "/")("@platformatic/kafka");
const base = { clientId: "capture", bootstrapBrokers: [process.argv[2]] };
const topic = "capture-platformatic";
const admin = new Admin(base);
await admin.createTopics({ topics: [topic], partitions: 2, replicas: 1 });
const producer = new Producer({ ...base, serializers: stringSerializers });
await producer.send({ messages: [{ topic, key: "k", value: "v" }, { topic, key: "l", value: "w" }] });
await producer.close();
const consumer = new Consumer({ ...base, groupId: "capture-platformatic", deserializers: stringDeserializers });
const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: true, sessionTimeout: 10000, heartbeatInterval: 500 });
let seen = 0;
for await (const _ of stream) if (++seen === 2) break;
await consumer.close(true);
await admin.close();
