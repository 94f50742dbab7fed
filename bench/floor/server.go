package main

import (
	"errors"
	"fmt"
	"net"
	"sync"
)

// server is the topics and who waits for them to grow.
type server struct {
	dir    string
	direct bool
	// bare partitions have no file: the sink keeps what they get.
	bare bool
	host string
	port int32

	mu     sync.Mutex
	topics map[string][]*partition
	// changed is closed, and replaced, when any partition has grown.
	changed chan struct{}
}

func newServer(dir string, direct bool) *server {
	return &server{dir: dir, direct: direct, topics: map[string][]*partition{}, changed: make(chan struct{})}
}

// serve accepts connections until the listener is closed.
func (s *server) serve(l net.Listener) error {
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("listen address %v is not TCP", l.Addr())
	}
	s.host, s.port = addr.IP.String(), int32(addr.Port)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go s.serveConn(c.(*net.TCPConn))
	}
}

// create makes a topic with its files; it reports false if the topic is there already.
func (s *server) create(name string, partitions int) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.topics[name]; ok {
		return false, nil
	}
	parts := make([]*partition, 0, partitions)
	for i := range partitions {
		if s.bare {
			parts = append(parts, &partition{})
			continue
		}
		p, err := openPartition(fmt.Sprintf("%s/%s-%d", s.dir, name, i), s.direct, s.grown)
		if err != nil {
			for _, p := range parts {
				p.close()
			}
			return false, err
		}
		parts = append(parts, p)
	}
	s.topics[name] = parts
	return true, nil
}

// remove deletes a topic and its files at once.
func (s *server) remove(name string) bool {
	s.mu.Lock()
	parts, ok := s.topics[name]
	delete(s.topics, name)
	s.mu.Unlock()
	for _, p := range parts {
		if !s.bare {
			p.close()
		}
	}
	return ok
}

// partition is nil if there is none such.
func (s *server) partition(topic string, index int32) *partition {
	s.mu.Lock()
	defer s.mu.Unlock()
	parts := s.topics[topic]
	if index < 0 || int(index) >= len(parts) {
		return nil
	}
	return parts[index]
}

// grown wakes the fetches that wait.
func (s *server) grown() {
	s.mu.Lock()
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
}

// growth is a channel that is closed at the next growth of any partition.
func (s *server) growth() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}
