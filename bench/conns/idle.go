package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
)

// source is the address from which idle connection i is made.
func (o *options) source(i int) string { return fmt.Sprintf("127.0.0.%d", 2+i%o.sources) }

// hold is the worker: it opens its connections, says so on out, and when a line comes in
// asks on each of them again and says how many still answer. It ends with in.
func (o *options) hold(in io.Reader, out io.Writer) error {
	conns := make([]net.Conn, 0, o.idle)
	for i := range o.idle {
		c, err := dialFrom(o.source(o.first+i), o.addr)
		if err == nil {
			err = askVersions(c)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "idle connection %d: %v\n", o.first+i, err)
			continue
		}
		conns = append(conns, c)
	}
	fmt.Fprintln(out, len(conns))
	for lines := bufio.NewScanner(in); lines.Scan(); {
		alive := 0
		for i, c := range conns {
			if err := askVersions(c); err != nil {
				fmt.Fprintf(os.Stderr, "idle connection %d is gone: %v\n", o.first+i, err)
				continue
			}
			alive++
		}
		fmt.Fprintln(out, alive)
	}
	return nil
}

// worker is a process that holds idle connections.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// startWorker starts a process for n connections from the first on.
func (o *options) startWorker(addr string, first, n int) (*worker, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "--worker", "--addr", addr, "--first", strconv.Itoa(first), "--idle", strconv.Itoa(n), "--sources", strconv.Itoa(o.sources))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start worker: %w", err)
	}
	return &worker{cmd, in, bufio.NewScanner(out)}, nil
}

// count reads the next number that the worker tells.
func (w *worker) count() (int, error) {
	if !w.out.Scan() {
		return 0, fmt.Errorf("worker ended: %w", w.cmd.Wait())
	}
	return strconv.Atoi(w.out.Text())
}

// check asks the worker how many of its connections still answer.
func (w *worker) check() (int, error) {
	if _, err := io.WriteString(w.in, "check\n"); err != nil {
		return 0, err
	}
	return w.count()
}

// stop closes the worker's connections by ending it.
func (w *worker) stop() error {
	if err := w.in.Close(); err != nil {
		return err
	}
	return w.cmd.Wait()
}
