import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileReader;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Drives Apache Kafka's Java client for the client matrix. Reads one command (JSON) from standard input, carries it out
 * and prints JSON lines; ../README.md describes both.
 */
public final class Client {
    /** Above this length only length and checksum are printed. */
    private static final int LARGE_BYTES = 4096;
    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode command;
    private final long limit;

    private Client(JsonNode command) {
        this.command = command;
        this.limit = System.nanoTime() + Duration.ofSeconds(command.get("timeout_s").asLong()).toNanos();
    }

    public static void main(String[] args) throws Exception {
        Client client = new Client(JSON.readTree(System.in));
        switch (client.command.get("op").asText()) {
            case "produce" -> client.produce();
            case "consume" -> client.consume();
            case "group" -> client.group();
            default -> throw new IllegalArgumentException("unknown op");
        }
    }

    private static byte[] unbase64(JsonNode text) {
        return text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String text(byte[] data) throws Exception {
        if (data == null) {
            return null;
        }
        if (data.length > LARGE_BYTES) {
            byte[] sum = MessageDigest.getInstance("SHA-256").digest(data);
            return "sha256:" + data.length + ":" + HexFormat.of().formatHex(sum);
        }
        return Base64.getEncoder().encodeToString(data);
    }

    private static synchronized void print(ObjectNode line) {
        System.out.println(line);
        System.out.flush();
    }

    private static void print(ConsumerRecord<byte[], byte[]> r, String member) throws Exception {
        ObjectNode line = JSON.createObjectNode().put("topic", r.topic()).put("partition", r.partition())
            .put("offset", r.offset()).put("timestamp", r.timestamp()).put("key", text(r.key())).put("value", text(r.value()));
        ArrayNode headers = line.putArray("headers");
        for (Header h : r.headers()) {
            headers.addArray().add(h.key()).add(text(h.value()));
        }
        if (member != null) {
            line.put("member", member);
        }
        print(line);
    }

    private Properties properties() {
        Properties p = new Properties();
        p.put("bootstrap.servers", command.get("brokers").asText());
        return p;
    }

    private void checkTime(String what) {
        if (System.nanoTime() > limit) {
            throw new IllegalStateException("time limit: " + what);
        }
    }

    private void produce() throws Exception {
        List<JsonNode> lines = new ArrayList<>();
        try (BufferedReader in = new BufferedReader(new FileReader(command.get("records").asText(), StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                lines.add(JSON.readTree(line));
            }
        }
        for (JsonNode target : command.get("targets")) {
            String topic = target.get("topic").asText();
            boolean idempotent = target.get("idempotent").asBoolean();
            Properties p = properties();
            p.put("acks", "all");
            p.put("compression.type", target.get("codec").asText());
            p.put("enable.idempotence", idempotent);
            p.put("max.in.flight.requests.per.connection", idempotent ? 5 : 1);
            p.put("max.request.size", 2 << 20);
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            try (var producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer())) {
                for (JsonNode r : lines) {
                    List<Header> headers = new ArrayList<>();
                    for (JsonNode h : r.get("headers")) {
                        headers.add(new RecordHeader(h.get(0).asText(), unbase64(h.get(1))));
                    }
                    sent.add(producer.send(new ProducerRecord<>(topic, r.get("partition").asInt(), r.get("timestamp").asLong(),
                        unbase64(r.get("key")), unbase64(r.get("value")), headers)));
                }
                for (Future<RecordMetadata> s : sent) {
                    s.get();
                }
            }
            print(JSON.createObjectNode().put("event", "produced").put("topic", topic).put("count", sent.size()));
        }
    }

    private void consume() throws Exception {
        long left = 0;
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode t : command.get("topics")) {
            for (int i = 0; i < t.get("ends").size(); i++) {
                partitions.add(new TopicPartition(t.get("topic").asText(), i));
                left += t.get("ends").get(i).asLong();
            }
        }
        try (var consumer = new KafkaConsumer<>(properties(), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            while (left > 0) {
                checkTime(left + " records missing");
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(500))) {
                    print(r, null);
                    left--;
                }
            }
        }
    }

    private void group() throws Exception {
        Progress progress = new Progress(command.get("partitions").asInt(), command.get("until").asLong());
        List<Thread> members = new ArrayList<>();
        List<Exception> failures = java.util.Collections.synchronizedList(new ArrayList<>());
        for (String name : List.of("A", "B")) {
            Thread t = new Thread(() -> {
                try {
                    member(name, progress, failures);
                } catch (Exception e) {
                    failures.add(e);
                }
            });
            t.start();
            members.add(t);
        }
        for (Thread t : members) {
            t.join();
        }
        if (!failures.isEmpty()) {
            throw failures.get(0);
        }
    }

    private void member(String name, Progress progress, List<Exception> failures) throws Exception {
        Properties p = properties();
        p.put("group.id", command.get("group").asText());
        p.put("enable.auto.commit", false);
        p.put("auto.offset.reset", "earliest");
        p.put("heartbeat.interval.ms", 500);
        String topic = command.get("topic").asText();
        try (var consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
                    progress.hold(name, consumer.assignment().size() - revoked.size());
                }

                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
                    progress.hold(name, consumer.assignment().size());
                }
            });
            while (!progress.done() && failures.isEmpty()) {
                checkTime("member " + name);
                Map<TopicPartition, OffsetAndMetadata> next = new HashMap<>();
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(200))) {
                    if (r.offset() < command.get("until").asLong()) {
                        print(r, name);
                        next.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
                    }
                }
                if (next.isEmpty()) {
                    continue;
                }
                try {
                    consumer.commitSync(next);
                } catch (CommitFailedException | RebalanceInProgressException e) {
                    continue; // the partitions moved while we read: their next owner reads the records again
                }
                next.forEach((partition, offset) -> progress.commit(partition.partition(), offset.offset()));
            }
        }
    }

    /** What the two members of a group have reached together. Safe for several threads. */
    private static final class Progress {
        private final int partitions;
        private final long until;
        private final Map<String, Integer> assigned = new HashMap<>();
        private final Map<Integer, Long> committed = new HashMap<>();
        private boolean ready;

        Progress(int partitions, long until) {
            this.partitions = partitions;
            this.until = until;
        }

        /** Notes how many partitions a member holds now, and announces once that both hold some. */
        synchronized void hold(String member, int held) {
            assigned.put(member, held);
            int a = assigned.getOrDefault("A", 0);
            int b = assigned.getOrDefault("B", 0);
            if (!ready && a > 0 && b > 0 && a + b == partitions) {
                ready = true;
                print(JSON.createObjectNode().put("event", "ready"));
            }
        }

        synchronized void commit(int partition, long offset) {
            print(JSON.createObjectNode().put("event", "committed").put("partition", partition).put("offset", offset));
            committed.put(partition, offset);
        }

        /** True when both members worked and every partition is committed up to the wanted offset. */
        synchronized boolean done() {
            return ready && committed.size() == partitions && committed.values().stream().allMatch(o -> o >= until);
        }
    }
}
