package server

// charge adds n bytes of input memory to the budgets of c and of the process.
func (s *Server) charge(c *Conn, n int) {
	c.inBytes += n
	s.inputBytes.Add(int64(n))
}

// uncharge takes n bytes off again. When the process falls below three quarters of
// its budget, the loops that hold connections back for it are told.
func (s *Server) uncharge(c *Conn, n int) {
	if n == 0 {
		return
	}
	c.inBytes -= n
	now := s.inputBytes.Add(int64(-n))
	low := s.inputLow()
	if now < low && now+int64(n) >= low {
		for _, l := range s.loops {
			if l.starving.Load() > 0 {
				l.ring()
			}
		}
	}
}

// inputLow is the level below which connections held back for the budget of the
// process are resumed.
func (s *Server) inputLow() int64 { return s.o.MaxInputBytes / 4 * 3 }

// overBudget reports whether c may not begin another frame now.
func (l *loop) overBudget(c *Conn) bool {
	o := &l.s.o
	if l.draining {
		return true
	}
	if c.inFlight >= o.MaxConnRequests || c.inBytes >= o.MaxConnBytes || c.queued >= o.MaxConnQueued {
		return true
	}
	if l.s.inputBytes.Load() >= o.MaxInputBytes {
		l.starve(c)
		return true
	}
	return false
}

// resumable reports whether c, which is paused, may read again: at half of its
// budgets, so that it does not go to and fro with each reply.
func (l *loop) resumable(c *Conn) bool {
	o := &l.s.o
	return !l.draining && !c.starved &&
		c.inFlight <= o.MaxConnRequests/2 && c.inBytes <= o.MaxConnBytes/2 && c.queued <= o.MaxConnQueued/2
}

// starve notes that c waits for the budget of the process.
func (l *loop) starve(c *Conn) {
	if !c.starved {
		c.starved = true
		l.hungry = append(l.hungry, c)
		l.starving.Store(int64(len(l.hungry)))
	}
}

// unstarve forgets it.
func (l *loop) unstarve(c *Conn) {
	if !c.starved {
		return
	}
	c.starved = false
	for i, h := range l.hungry {
		if h == c {
			last := len(l.hungry) - 1
			l.hungry[i] = l.hungry[last]
			l.hungry[last] = nil
			l.hungry = l.hungry[:last]
			break
		}
	}
	l.starving.Store(int64(len(l.hungry)))
}

// feed resumes connections that waited for the budget of the process, once there is
// room again; those for which there is not after all come back.
func (l *loop) feed() {
	if !l.canFeed() {
		return
	}
	for _, c := range l.hungry {
		c.starved = false
		l.requeue(c)
	}
	clear(l.hungry)
	l.hungry = l.hungry[:0]
	l.starving.Store(0)
}

func (l *loop) canFeed() bool { return len(l.hungry) > 0 && l.s.inputBytes.Load() < l.s.inputLow() }
