#!/usr/bin/env bash
# record.sh: record the requests of real clients against Apache Kafka into ../testdata/frames.
# Needs Java and Go; uses kcat, python3 and npm where they are there. Everything else goes to a
# scratch folder: SCRATCH=... keeps what is installed for the next time.
set -euo pipefail
cd "$(dirname "$0")/../../.."
here=tools/conformance/capture frames=$PWD/tools/conformance/testdata/frames
peers=${PEERS:-bench/peers/peers}
broker=${BROKER_PORT:-46092} proxy=${PROXY_PORT:-46592}
scratch=${SCRATCH:-$(mktemp -d)}
seeds=127.0.0.1:$proxy
mkdir -p "$frames" "$scratch"
go build -o "$scratch/capture" "./$here"

running=
finish() {
  [ -z "$running" ] || kill "$running" 2>/dev/null || true
  "$peers" stop kafka --dir "$scratch/kafka"
}
trap finish EXIT

KAFKA_HEAP_OPTS=-Xmx512m "$peers" start kafka --port "$broker" --dir "$scratch/kafka" --fresh \
  --set "advertised.listeners=PLAINTEXT://$seeds"

# record NAME COMMAND...: one client through the proxy under its name. A client that fails is told
# and does not end the recording: what it sent until then is kept.
record() {
  local name=$1; shift
  "$scratch/capture" --listen "$seeds" --broker "127.0.0.1:$broker" --client "$name" --out "$frames" & running=$!
  until (exec 3<>"/dev/tcp/127.0.0.1/$proxy") 2>/dev/null; do kill -0 "$running"; done
  timeout 240 "$@" >"$scratch/$name.log" 2>&1 || echo "record: $name ended with $? (see $scratch/$name.log)" >&2
  kill "$running"; wait "$running" 2>/dev/null || true; running=
  echo "$name: $(find "$frames" -name "$name-*" | wc -l) frames"
}

tool() { "$peers" kafka-tool "$@"; }
java_admin() {
  tool kafka-topics --bootstrap-server "$seeds" --create --topic capture-java --partitions 2 --config retention.ms=100000
  tool kafka-topics --bootstrap-server "$seeds" --describe --topic capture-java
  tool kafka-topics --bootstrap-server "$seeds" --alter --topic capture-java --partitions 3
  tool kafka-configs --bootstrap-server "$seeds" --alter --entity-type topics --entity-name capture-java --add-config cleanup.policy=compact
  tool kafka-configs --bootstrap-server "$seeds" --describe --entity-type topics --entity-name capture-java
  tool kafka-get-offsets --bootstrap-server "$seeds" --topic capture-java --time -3
  tool kafka-log-dirs --bootstrap-server "$seeds" --describe
  tool kafka-cluster cluster-id --bootstrap-server "$seeds"
}
java_clients() {
  tool kafka-verifiable-producer --bootstrap-server "$seeds" --topic capture-jclient --max-messages 100
  seq 100 | tool kafka-console-producer --bootstrap-server "$seeds" --topic capture-jclient --compression-codec zstd
  tool kafka-console-consumer --bootstrap-server "$seeds" --topic capture-jclient --from-beginning --group capture-java --max-messages 200
  tool kafka-console-consumer --bootstrap-server "$seeds" --topic capture-jclient --from-beginning --max-messages 200 --isolation-level read_committed
  tool kafka-consumer-groups --bootstrap-server "$seeds" --describe --group capture-java
  tool kafka-consumer-groups --bootstrap-server "$seeds" --reset-offsets --to-earliest --execute --topic capture-jclient --group capture-java
  tool kafka-consumer-groups --bootstrap-server "$seeds" --list
  tool kafka-consumer-groups --bootstrap-server "$seeds" --delete --group capture-java
  echo '{"partitions":[{"topic":"capture-jclient","partition":0,"offset":5}],"version":1}' >"$scratch/delete.json"
  tool kafka-delete-records --bootstrap-server "$seeds" --offset-json-file "$scratch/delete.json"
  tool kafka-topics --bootstrap-server "$seeds" --delete --topic capture-jclient
}
kcat_client() {
  seq 100 | kcat -b "$seeds" -t capture-kcat -P -K : -z gzip
  kcat -b "$seeds" -t capture-kcat -C -e -o beginning
  kcat -b "$seeds" -L
  kcat -b "$seeds" -Q -t capture-kcat:0:1
  timeout 15 kcat -b "$seeds" -G capture-kcat -o beginning -c 100 capture-kcat || true
}
franz_client() { # the client's own tests use nearly all of it
  KGO_SEEDS=$seeds KGO_TEST_RF=1 KGO_TEST_RECORDS=500 KGO_LOG_LEVEL=none "$scratch/kgo.test" \
    -test.run 'TestGroupETL|TestTxnEtl|TestClient_Produce|TestIssue434|TestPing|TestPooling|TestAddRemovePartitions' -test.timeout 80s
}
export -f tool java_admin java_clients kcat_client franz_client
export peers seeds scratch

record javaadmin bash -c java_admin
record java bash -c java_clients
if command -v kcat >/dev/null; then record kcat bash -c kcat_client; fi
if command -v python3 >/dev/null; then
  [ -d "$scratch/venv" ] || python3 -m venv "$scratch/venv"
  "$scratch/venv/bin/pip" -q install kafka-python aiokafka confluent-kafka
  record kafka-python "$scratch/venv/bin/python" "$here/clients/kafka_python.py" "$seeds"
  record aiokafka "$scratch/venv/bin/python" "$here/clients/aiokafka_client.py" "$seeds"
  record librdkafka "$scratch/venv/bin/python" "$here/clients/confluent.py" "$seeds"
fi
if command -v npm >/dev/null; then
  npm --prefix "$scratch/node" --silent install kafkajs @platformatic/kafka >/dev/null
  clients=$PWD/$here/clients
  record kafkajs env NODE_PATH="$scratch/node/node_modules" node "$clients/kafkajs.js" "$seeds"
  record platformatic bash -c "cd $scratch/node && node $clients/platformatic.mjs $seeds"
fi
franz=$(go list -m -f '{{.Dir}}' github.com/twmb/franz-go)
if [ ! -x "$scratch/kgo.test" ]; then
  cp -r "$franz" "$scratch/franz" && chmod -R u+w "$scratch/franz"
  (cd "$scratch/franz" && GOFLAGS= go test -c -o "$scratch/kgo.test" ./pkg/kgo)
fi
record franz-go bash -c franz_client
du -sh "$frames"
