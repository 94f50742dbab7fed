package broker

import "sync"

// serial runs the control requests of one connection one after the other, off the
// event loop. A client that pipelines two OffsetCommits means them in that order;
// replies alone would not keep it.
//
// push is called on the connection's loop; the functions run on one goroutine that
// lives as long as there is something to run.
type serial struct {
	mu      sync.Mutex
	queue   []func()
	running bool
}

func (s *serial) push(f func()) {
	s.mu.Lock()
	s.queue = append(s.queue, f)
	start := !s.running
	s.running = true
	s.mu.Unlock()
	if start {
		go s.run()
	}
}

// idle says that nothing is queued or running: what comes next needs to wait for
// nobody.
func (s *serial) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.running
}

func (s *serial) run() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.queue, s.running = nil, false
			s.mu.Unlock()
			return
		}
		f := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.mu.Unlock()
		f()
	}
}
