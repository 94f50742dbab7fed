package broker_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"millrace/broker"
	"millrace/broker/brokertest"
	"millrace/broker/config"
	"millrace/segment"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// killEnv makes the test binary a broker that is to be killed: its value is its log dirs. killAtEnv has it kill itself
// before that change of the disk, counted from the beginning of a move on.
const (
	killEnv   = "BROKER_TEST_DIRS"
	killAtEnv = "BROKER_TEST_KILL_AT"
)

func TestMain(m *testing.M) {
	if dirs := os.Getenv(killEnv); dirs != "" {
		serveUntilKilled(dirs)
		return
	}
	os.Exit(m.Run())
}

// serveUntilKilled prints its address and serves until its input ends.
func serveUntilKilled(dirs string) {
	killAt, _ := strconv.ParseInt(os.Getenv(killAtEnv), 10, 64)
	steps := &steps{killAt: killAt}
	cfg, _, err := config.Load(map[string]string{
		"node.id": "1", "listeners": "PLAINTEXT://127.0.0.1:0", "http.listen": "", "log.slab.bytes": "16777216", "log.dirs": dirs,
	})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	b, err := broker.Start(context.Background(), broker.Options{
		Config: cfg, Version: "test", Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Disk: func(string) segment.Disk { return stepDisk{steps: steps} },
	})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	_, addr, _ := strings.Cut(b.Report().Listeners[0], "://")
	fmt.Println(addr)
	io.Copy(io.Discard, os.Stdin)
}

// steps counts the changes of files, but for the writes of the engine, since a future log was begun.
type steps struct {
	killAt int64
	armed  atomic.Bool
	n      atomic.Int64
}

func (s *steps) step() {
	if s.killAt > 0 && s.armed.Load() && s.n.Add(1) == s.killAt {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // not one instruction more of what comes next
	}
}

type stepDisk struct {
	segment.RealDisk
	steps *steps
}

func (d stepDisk) Mkdir(path string) error {
	if strings.HasSuffix(path, "-future") {
		d.steps.armed.Store(true)
	}
	d.steps.step()
	return d.RealDisk.Mkdir(path)
}

func (d stepDisk) Open(path string, flags int) (int, error) {
	d.steps.step()
	return d.RealDisk.Open(path, flags)
}

func (d stepDisk) WriteAt(fd int, b []byte, off int64) error {
	d.steps.step()
	return d.RealDisk.WriteAt(fd, b, off)
}

func (d stepDisk) Truncate(fd int, size int64) error {
	d.steps.step()
	return d.RealDisk.Truncate(fd, size)
}

func (d stepDisk) Fsync(fd int) error {
	d.steps.step()
	return d.RealDisk.Fsync(fd)
}

func (d stepDisk) Rename(from, to string) error {
	d.steps.step()
	return d.RealDisk.Rename(from, to)
}

func (d stepDisk) Remove(path string) error {
	d.steps.step()
	return d.RealDisk.Remove(path)
}

func (d stepDisk) RemoveAll(path string) error {
	d.steps.step()
	return d.RealDisk.RemoveAll(path)
}

// process is a broker in a process of its own.
type process struct {
	cmd  *exec.Cmd
	node *brokertest.Node
	in   io.Closer
	dead chan struct{}
}

func startProcess(t *testing.T, dirs []string, killAt int64) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killEnv+"="+strings.Join(dirs, ","), killAtEnv+"="+strconv.FormatInt(killAt, 10))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	line = strings.TrimSpace(line)
	if err != nil || !strings.HasPrefix(line, "127.0.0.1:") {
		cmd.Process.Kill()
		cmd.Wait()
		t.Fatalf("broker did not start: %q, %v\n%s", line, err, said.String())
	}
	p := &process{cmd: cmd, node: brokertest.New(t, dirs, nil), in: in, dead: make(chan struct{})}
	p.node.Addr = line
	go func() {
		cmd.Wait()
		close(p.dead)
	}()
	t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.dead
}

// ask asks for the replica t-0 to be moved, of a broker that may not live to answer.
func (p *process) ask(c *brokertest.Conn, dir string) {
	req := kmsg.NewPtrAlterReplicaLogDirsRequest()
	req.Version = 2
	d := kmsg.NewAlterReplicaLogDirsRequestDir()
	d.Dir = dir
	d.Topics = []kmsg.AlterReplicaLogDirsRequestDirTopic{{Topic: "t", Partitions: []int32{0}}}
	req.Dirs = append(req.Dirs, d)
	if _, err := c.Write(c.Frame(req)); err == nil {
		_, _ = c.ReadFrame()
	}
}

// awaitOne waits until t-0 is in one log dir and not on its way to another.
func awaitOne(t *testing.T, dirs []string) {
	t.Helper()
	await(t, "the end of what was begun", func() bool {
		n := 0
		for _, d := range dirs {
			current, _ := filepath.Glob(filepath.Join(d, "t-0"))
			future, _ := filepath.Glob(filepath.Join(d, "t-0.*-future"))
			n += len(current) + 2*len(future)
		}
		return n == 1
	})
}

// Whatever a move was at when the process was killed, the replica is then in one log dir, with every record that was
// acknowledged, each once, and the move goes on to its end or had not begun.
func TestAKillAtAnyStepOfAMoveLosesNothing(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir()}
	p := startProcess(t, dirs, 0)
	c := p.node.Dial(t)
	c.CreateTopic("t", 1, "segment.bytes", "1048576")
	p.kill()
	acked := &writers{acked: map[string]int64{}}
	for killAt := int64(1); ; killAt += 1 + rand.Int64N(8) {
		p = startProcess(t, dirs, killAt)
		c = p.node.Dial(t)
		at := dirOf(t, c, p.node, "t-0")
		w := startWriters(t, p.node.Addr, fmt.Sprint("at ", killAt), 2, 2)
		await(t, "records", func() bool { return w.count() > 10 })
		p.ask(c, dirs[1-at])
		survived := false
		await(t, "the kill, or the end of the move", func() bool {
			select {
			case <-p.dead:
				return true
			default:
			}
			left, _ := filepath.Glob(filepath.Join(dirs[at], "t-0"))
			survived = len(left) == 0
			return survived
		})
		if survived {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // some way into deleting what was moved
		}
		p.kill()
		w.end()
		maps.Copy(acked.acked, w.acked)

		p = startProcess(t, dirs, 0)
		c = p.node.Dial(t)
		awaitOne(t, dirs)
		expectHistory(t, c, "t", acked)
		p.kill()
		if t.Failed() {
			t.Fatalf("killed before step %d of a move from dir %d", killAt, at)
		}
		if survived {
			t.Logf("a move had fewer than %d steps; %d records", killAt, len(acked.acked))
			if killAt < 20 {
				t.Error("that is less than a move can be done in")
			}
			return
		}
	}
}

// The same, with kills at any time while much is copied.
func TestAKillWhileMuchIsCopiedLosesNothing(t *testing.T) {
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	p := startProcess(t, dirs, 0)
	c := p.node.Dial(t)
	c.CreateTopic("t", 1, "segment.bytes", "1048576")
	acked := &writers{acked: map[string]int64{}}
	for round := range 8 {
		w := startWriters(t, p.node.Addr, fmt.Sprint("round ", round), 3, 200)
		await(t, "records", func() bool { return w.count() > 2000 })
		p.ask(c, dirs[rand.IntN(3)])
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		p.kill()
		w.end()
		maps.Copy(acked.acked, w.acked)
		p = startProcess(t, dirs, 0)
		c = p.node.Dial(t)
		expectHistory(t, c, "t", acked)
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	awaitOne(t, dirs)
	expectHistory(t, c, "t", acked)
}
