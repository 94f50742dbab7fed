package main

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxFrame bounds a request on its way through, bytes; Kafka's own limit is the same.
const maxFrame = 100 << 20

func main() {
	listen := flag.String("listen", "", "HOST:PORT to take clients on, which the broker advertises")
	broker := flag.String("broker", "", "HOST:PORT of the broker")
	r := &recorder{kept: map[string]bool{}}
	flag.StringVar(&r.client, "client", "", "name of the client, first part of the file names")
	flag.StringVar(&r.dir, "out", "tools/conformance/testdata/frames", "folder for the frames")
	flag.IntVar(&r.limit, "limit", 4096, "largest frame kept, bytes")
	flag.Parse()
	if *listen == "" || *broker == "" || r.client == "" {
		flag.Usage()
		os.Exit(2)
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatalf("capture: %v", err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	go func() { <-stop; l.Close() }()
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Fatalf("capture: accept: %v", err)
		}
		go r.pass(c, *broker)
	}
}

// recorder keeps frames of one client.
type recorder struct {
	client, dir string
	limit       int // bytes

	mu   sync.Mutex
	kept map[string]bool // file names; guarded by mu
}

// pass carries one connection until either side ends it.
func (r *recorder) pass(client net.Conn, addr string) {
	defer client.Close()
	broker, err := net.Dial("tcp", addr)
	if err != nil {
		log.Printf("capture: %v", err)
		return
	}
	defer broker.Close()
	go func() {
		_, _ = io.Copy(client, broker)
		client.Close()
	}()
	for {
		frame, err := readFrame(client)
		if err != nil {
			return
		}
		r.keep(frame[4:])
		if _, err := broker.Write(frame); err != nil {
			return
		}
	}
}

// readFrame gives the next frame with its length.
func readFrame(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 8 || n > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes", n)
	}
	frame := append(size[:], make([]byte, n)...)
	_, err := io.ReadFull(from, frame[4:])
	return frame, err
}

// keep stores payload if it is the first of its API and version. A failure to
// store is told and otherwise ignored: the client's run goes on.
func (r *recorder) keep(payload []byte) {
	if len(payload) > r.limit {
		return
	}
	key, version := int16(binary.BigEndian.Uint16(payload)), int16(binary.BigEndian.Uint16(payload[2:]))
	name := fmt.Sprintf("%s-%s-v%d", r.client, kmsg.NameForKey(key), version)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kept[name] {
		return
	}
	r.kept[name] = true
	if err := os.WriteFile(filepath.Join(r.dir, name), payload, 0o644); err != nil {
		log.Printf("capture: %v", err)
	}
}
