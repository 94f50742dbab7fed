// kafkajs: admin calls, a producer, an idempotent producer, a group.
const { Kafka, CompressionTypes, logLevel } = require("kafkajs");
const kafka = new Kafka({ clientId: "capture", brokers: [process.argv[2]], logLevel: logLevel.ERROR });
const topic = "capture-kafkajs";

async function main() {
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: 2 }] });
  for (const options of [{}, { idempotent: true }]) {
    const producer = kafka.producer(options);
    await producer.connect();
    await producer.send({ topic, compression: CompressionTypes.GZIP, messages: [{ key: "k", value: "v", headers: { h: "1" } }, { value: null, key: "n" }] });
    await producer.disconnect();
  }
  const consumer = kafka.consumer({ groupId: "capture-kafkajs" });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  let seen = 0;
  await new Promise((done) => consumer.run({ eachMessage: async () => { if (++seen === 4) done(); } }));
  await consumer.disconnect();
  await admin.fetchTopicOffsets(topic);
  await admin.fetchTopicOffsetsByTimestamp(topic, 1);
  await admin.fetchOffsets({ groupId: "capture-kafkajs", topics: [topic] });
  await admin.describeConfigs({ resources: [{ type: 2, name: topic }] });
  await admin.alterConfigs({ resources: [{ type: 2, name: topic, configEntries: [{ name: "retention.ms", value: "1000000" }] }] });
  await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
  await admin.listGroups();
  await admin.describeGroups(["capture-kafkajs"]);
  await admin.describeCluster();
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: "-1" }] });
  await admin.deleteGroups(["capture-kafkajs"]);
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
}
main().catch((e) => { console.error(e); process.exit(1); });
