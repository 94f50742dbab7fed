# Millrace: build, run and test. `make` alone explains the targets.

SHELL := /bin/bash

# The ring (io_uring) is behind a build tag, and its library needs the linker flag (ARCHITECTURE.md, "Two engines").
# GOFLAGS of the caller are kept.
export GOFLAGS := $(strip $(GOFLAGS) -tags=uring -ldflags=-checklinkname=0)
export CGO_ENABLED ?= 0

PREFIX    ?= /usr/local
DATA_DIR  ?= data
ARGS      ?=
FUZZTIME  ?= 10s
# Rounds of kill -9 under load in `make test`. How long a restart with 1 GB takes is printed there, and held to a second
# by tools/crash/run.sh itself, on a machine that does nothing else.
CRASH_ROUNDS ?= 10
# Crash images of the log, and the seed of what is done to it.
IMAGES    ?= 100000
SEED      ?= 1
# Rounds of filling the disk in `make test`; 20 are all there are.
DISKFULL_ROUNDS ?= 5

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.PHONY: help run build install test test-go test-clients test-crash test-diskfull soak race fuzz bench bench-topics bench-produce bench-consume bench-latency bench-conns bench-partitions bench-compaction conformance lint fmt check clean

## help: this list
help:
	@sed -n 's/^## \([a-z-]*\): /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  make %-14s %s\n", $$1, $$2 }'

## build: bin/millrace, the broker and its tools in one program
build:
	@mkdir -p bin
	go build -trimpath -o bin/millrace ./tools/millrace

## run: a broker on 127.0.0.1:9092, data in ./data, metrics on 127.0.0.1:9644 (ARGS="--set key=value" adds flags)
run: build
	bin/millrace serve --dev --data-dir $(DATA_DIR) $(ARGS)

## install: bin/millrace and the systemd unit, below PREFIX (/usr/local)
install:
	@# sudo often has no go in its PATH: then what was built before is installed.
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory build; \
		else test -x bin/millrace || { echo "there is no go in the PATH, and no bin/millrace: make build first"; exit 1; }; fi
	install -D -m 0755 bin/millrace $(DESTDIR)$(PREFIX)/bin/millrace
	install -D -m 0644 tools/systemd/millrace.service $(DESTDIR)$(PREFIX)/lib/systemd/system/millrace.service
	sed -i 's#/usr/local/bin/millrace#$(PREFIX)/bin/millrace#' $(DESTDIR)$(PREFIX)/lib/systemd/system/millrace.service
	test -e $(DESTDIR)/etc/millrace/millrace.properties || \
		install -D -m 0644 tools/systemd/millrace.properties $(DESTDIR)/etc/millrace/millrace.properties

## test: everything that must hold: both engines, the clients of other languages, kill -9 under load, a full disk
test: test-go test-clients test-crash test-diskfull

## test-go: go vet and the Go tests, on the ring and on pwritev2
test-go:
	tools/deps/install
	go vet ./...
	go test ./...
	go test -count=1 ./tools/deps
	cd bench/mqload && GOFLAGS= go vet ./... && GOFLAGS= go test ./...
	GOFLAGS= go vet ./segment/... ./tools/millrace/...
	GOFLAGS= go test ./segment/... ./broker

## test-clients: kcat, Java, Python, Node and Go clients against a broker, each reading what the others wrote
test-clients: build
	tools/clients/install.sh
	tools/clients/run.sh

## test-crash: kill -9 under load (CRASH_ROUNDS times), then everything acknowledged is there, once and in order
test-crash: build
	tools/crash/run.sh $(CRASH_ROUNDS) --big-log-limit 10s

## test-diskfull: a 64 MB disk filled to the last block and freed (DISKFULL_ROUNDS times), with restarts in between
test-diskfull: build
	tools/diskfull/run.sh $(DISKFULL_ROUNDS)

## soak: everything at once with kills and restarts for an hour: nothing lost, nothing grows (ARGS="--minutes 2" for less)
soak: build
	go run ./tools/soak $(ARGS)

## crash-images: IMAGES (100,000) images of what a loss of power leaves of the log, each recovered and checked (SEED)
crash-images:
	go test ./segment/crashimages -count=1 -v -timeout 3h -run 'TestCrashImages$$' -images $(IMAGES) -seed $(SEED)

## race: the Go tests under the race detector, with the assertions that are too dear for production
race:
	CGO_ENABLED=1 go test -race -tags=uring,invariants ./...

## fuzz: each fuzz target for FUZZTIME (10s)
fuzz:
	@set -e; for dir in $$(grep -rl --include='*_test.go' --exclude-dir='.?*' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -c6-); do \
			echo "fuzz $$dir $$target"; \
			go test $$dir -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME); \
		done; \
	done

## bench: side by side with Apache Kafka and the bare floor (ARGS are flags of bench/run)
bench: build
	go run ./bench/run $(ARGS)

## bench-topics: the same load over 1 to 10,000 topics, beside Kafka and RocketMQ (ARGS as with bench; here and below --quick proves that it works)
bench-topics: build
	go run ./bench/run topics $(ARGS)

## bench-produce: producing in many shapes, beside Kafka with and without flushes (ARGS=--full for every combination)
bench-produce: build
	go run ./bench/run produce $(ARGS)

## bench-consume: reading at the tail and from the disk, and what that does to producers
bench-consume: build
	go run ./bench/run consume $(ARGS)

## bench-latency: end to end at 1,000 and 20,000 records/s, beside Kafka, NATS and RabbitMQ
bench-latency: build
	go run ./bench/run latency $(ARGS)

## bench-conns: 10,000 idle and 200 busy connections: nothing refused, memory within its limit
bench-conns: build
	go run ./bench/conns $(ARGS)

## bench-partitions: 100,000 partitions, 1,000 written, and 4,096 written ones: starts, memory, open files (ARGS)
bench-partitions: build
	go run ./tools/partitions $(ARGS)

## bench-compaction: 5 GB of 50 million records compacted within 1 GB, checked one by one (ARGS="--records N --gb X")
bench-compaction: build
	go run ./bench/compaction $(ARGS)

## conformance: the franz-go suite and the comparison with Apache Kafka, probe by probe
conformance: build
	go run ./tools/conformance $(ARGS)

## lint: gofmt, go vet, staticcheck, and golangci-lint where it is installed
lint:
	@unformatted=$$(gofmt -l $$(go list -f '{{.Dir}}' ./...)); test -z "$$unformatted" || { echo "$$unformatted"; echo "run make fmt"; exit 1; }
	go vet ./...
	GOFLAGS= go run $(STATICCHECK) -tags uring ./...
	@if command -v golangci-lint >/dev/null; then golangci-lint run --build-tags uring ./...; fi

## fmt: gofmt over everything
fmt:
	gofmt -w $$(go list -f '{{.Dir}}' ./...)

## check: exactly what CI runs
check: build lint test

## clean: remove what was built (not the data)
clean:
	rm -rf bin
