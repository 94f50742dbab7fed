// Command capture records the requests of real clients, as seeds for the fuzz
// targets of every parser.
//
//	go run ./tools/conformance/capture --listen 127.0.0.1:P --broker 127.0.0.1:Q --client NAME --out DIR
//
// It is a proxy that passes bytes both ways unchanged and keeps the first request
// of each API and version that fits the size limit, as the file
// CLIENT-API-vVERSION in DIR: the frame without its four length bytes, so header
// and body. The broker must advertise the proxy's address, or clients leave it
// after their first metadata.
//
// record.sh in this folder starts such a broker, Apache Kafka, and puts each
// client through the proxy; its result is in ../testdata/frames.
//
// One goroutine per direction of each connection; the set of kept frames has one
// mutex. A frame that cannot be framed ends its connection.
package main
