// Package server carries frames between sockets and a Handler. It knows frames and
// request headers, not topics.
//
// # Who runs what
//
// gnet event loops, one per core by default, own the connections. gnet reads,
// loops and closes; everything else is here:
//
//   - Accepting. One goroutine per listener accepts and hands the socket to the
//     loop with the fewest connections. gnet's own acceptor ends the whole engine
//     when accept fails, and accept does fail, with EMFILE, under a flood of
//     connections.
//   - Input (input.go). A small frame is copied once out of gnet's buffer; a large
//     one is read straight from the socket into a pooled buffer that grows with
//     what has arrived, never with what the length prefix promises.
//   - Order (conn.go). Handler.Begin runs on the loop, once for each frame, in
//     order, and never blocks. Replies come in any order from any goroutine; the
//     connection sends them in the order of the requests.
//   - Output (output.go, sendfile_linux.go). gnet's Write is never called. The
//     queue of a connection is its list of requests; flush sends the answered ones
//     at its head by sendmsg and sendfile, about 1 MiB a turn.
//   - Coming back. A socket that is full is armed, one-shot, in one auxiliary epoll
//     of the process (writable_linux.go); a file range that is not in the page
//     cache goes to a few reader goroutines (cold.go). Both ring the loop's
//     doorbell when there is something to flush.
//   - Cold ranges (ahead.go). A file that is a ColdFile reads into memory of its own
//     what is not in the page cache, and the loop sends from there, while the readers
//     are at the next two pieces: of the range, of the ranges behind it, or of what the
//     client is going to ask for. A connection holds the piece that it is sending, if
//     its socket is full, and no more; where a file has no memory to give, the range is
//     brought into the page cache and sent by sendfile.
//
// # The doorbell
//
// A loop is woken by one byte through a socket pair that it reads like any other
// connection; what there is to do lies in the loop's lists, and one byte is under
// way at most. A goroutine that is about to answer many requests holds the bells
// meanwhile (bells.go) and rings each loop once; what a pass of the loop answers itself
// needs no ring. gnet's EventLoop.Execute would do for waking, but its queue is run
// until it is empty before the loop looks at a socket again, so that a connection
// which goes to the back of the line after each 1 MiB, or replies which keep coming,
// would starve every socket. A doorbell has its turn among the sockets. A pass goes
// round without a ring for as long as no socket has an event.
//
// # Waiting
//
// At the end of a turn a loop waits for its sockets itself, for a while
// (linger_linux.go), because gnet's way to wait gives the loop to another thread.
//
// # What holds
//
//   - Fields marked "loop" are touched only on the connection's loop. Only Reply,
//     ReplyBytes, ReplyNothing, Fail, Retain, Release, OnClose, Closed and the
//     getters may be called from other goroutines.
//   - A reference of a response part is released exactly once: when its bytes are
//     sent or when the connection is gone, and not before a reader goroutine is
//     done with its file; one that reads into memory has a reference of its own.
//   - Memory for input is charged when it is taken and bounded per connection and
//     for the process; past the bound a connection's read interest is taken away
//     (pause_linux.go) until replies have drained.
//   - OnClose of gnet runs on the loop before the descriptor is closed, and every
//     way back to a loop names connections, not descriptors: a descriptor that is
//     used again cannot be taken for the connection that had it before.
//   - The frame and the Request are recycled: nobody may touch them after replying,
//     unless retained.
package server
