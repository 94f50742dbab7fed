package server

import (
	"bufio"
	"net"
	"sync"
	"testing"
)

// benchPipeline sends b.N requests with depth in flight over each of conns connections
// and reads responses of size bytes.
func benchPipeline(b *testing.B, s *Server, conns, depth int, frame []byte, size int) {
	b.SetBytes(int64(max(size, len(frame))))
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	for range conns {
		c, err := net.Dial("tcp", s.Listeners()[0].Addr.String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		n := b.N/conns + 1
		tokens := make(chan struct{}, depth)
		wg.Add(2)
		go func() {
			defer wg.Done()
			w := bufio.NewWriterSize(c, 256<<10)
			for range n {
				select {
				case tokens <- struct{}{}:
				default:
					_ = w.Flush()
					tokens <- struct{}{}
				}
				_, _ = w.Write(frame)
			}
			_ = w.Flush()
		}()
		go func() {
			defer wg.Done()
			r := bufio.NewReaderSize(c, 256<<10)
			for range n {
				if _, err := r.Discard(size); err != nil {
					b.Error(err)
					return
				}
				<-tokens
			}
		}()
	}
	wg.Wait()
}

// retained keeps a request until its body, which is sent back, is sent.
type retained struct{ r *Request }

func (x retained) Release() { x.r.Release() }

func BenchmarkEcho4KiB(b *testing.B) {
	head := frameOf(1, make([]byte, 4096))[:8]
	s := startServer(b, Options{Handler: handlerFunc(func(r *Request) {
		r.Retain()
		r.Reply(Part{Bytes: head}, Part{Bytes: r.Body, Ref: retained{r}})
	})})
	benchPipeline(b, s, 4, 32, requestFrame(0, 1, make([]byte, 4096)), 8+4096)
}

func BenchmarkAckFromAnotherGoroutine4KiB(b *testing.B) {
	ack := frameOf(1, nil)
	in := make(chan *Request, 4096)
	go func() {
		for r := range in {
			r.ReplyBytes(ack, nil)
		}
	}()
	s := startServer(b, Options{Handler: handlerFunc(func(r *Request) { in <- r })})
	benchPipeline(b, s, 4, 64, requestFrame(0, 1, make([]byte, 4096)), 8)
}

func BenchmarkProduce1MiB(b *testing.B) {
	ack := frameOf(1, nil)
	s := startServer(b, Options{Handler: handlerFunc(func(r *Request) { r.ReplyBytes(ack, nil) })})
	benchPipeline(b, s, 4, 4, requestFrame(0, 1, make([]byte, 1<<20)), 8)
}

func BenchmarkSendfile256KiB(b *testing.B) {
	const n = 256 << 10
	f := patternFile(b, 16<<20)
	fd := int(f.Fd())
	head := frameOf(1, make([]byte, n))[:8]
	s := startServer(b, Options{Handler: handlerFunc(func(r *Request) {
		r.Reply(Part{Bytes: head}, Part{Fd: fd, Off: 1 << 20, Len: n})
	})})
	benchPipeline(b, s, 4, 4, requestFrame(0, 1, nil), 8+n)
}
