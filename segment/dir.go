package segment

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"millrace/segment/cold"
	"millrace/segment/journal"
	"millrace/segment/slab"
	"millrace/segment/uring"
)

// blockSize is the alignment of direct writes: positions, lengths and memory, bytes.
const blockSize = slab.Align

func alignUp(n, to int64) int64 { return (n + to - 1) / to * to }

const (
	defaultSlabBytes      = 256 << 20
	defaultRetentionCheck = 5 * time.Minute
	defaultOpenFiles      = 4096
	// openAtOnce is how many logs are opened at once: with little to read they wait for the disk most of the time.
	openAtOnce = 16
)

// coldBytes bounds the memory of all dirs for what is read past the page cache.
const coldBytes = 64 << 20

var coldBlocks = sync.OnceValue(func() *cold.Cache { return cold.New(coldBytes) })

// Dir is one log dir: the logs in it, their writer, memory and background work.
type Dir struct {
	opts       DirOptions
	log        *slog.Logger
	disk       Disk
	lock       *os.File // holds the flock
	directFlag int      // O_DIRECT or 0
	align      int64    // of writes: blockSize, or 1 with buffered I/O
	engineName string
	ioName     string
	clean      bool   // the last process shut down cleanly
	id         string // directory.id of meta.properties

	pool   *slab.Pool
	writer *writer
	// journal is where commits of many logs go together.
	journal *journal.Journal
	rounds  *rounds
	keeper  *keeper
	files   *handleCache
	house   *housekeeping
	naming  naming
	lazy    lazy
	stats   dirStats
	// scrubber looks for damage in the background (scrub.go).
	scrubber *scrubber

	lively    lively
	stopped   stopped // what the last clean stop left
	unsettled unsettled

	recoveryPoints *offsetCheckpoint
	startOffsets   *offsetCheckpoint
	compaction     compactionState

	failure atomic.Pointer[error]
	// uncheckpointed is the bytes appended to any log since the last checkpoints of all.
	uncheckpointed atomic.Int64
	starved        atomic.Bool // wantMemory was called and not answered yet
	// reserveGone: the reserve was given up and could not be made again yet.
	reserveGone atomic.Bool
	// hungry: space was asked for and refused since housekeeping last looked.
	hungry      atomic.Bool
	reserveMu   sync.Mutex    // guards making and giving it up, and:
	reserveLeft time.Time     // when it was given up
	opening     chan struct{} // holds a value for each log being opened
	recovering  chan struct{} // and for each that has much to be read
	unpacking   chan struct{} // and for each look-up by time that decompresses

	mu   sync.Mutex
	logs map[topicPartition]*Log
	// ghosts are logs deleted while the journal had something of them: the generation of its file.
	ghosts map[topicPartition]uint64
	closed bool
}

// OpenDir takes a log dir into use, making it if need be: lock file, meta.properties, probe of engine and I/O
// mode. It refuses a directory that another process holds or that belongs to another node or cluster. Logs are opened by
// OpenLog.
func OpenDir(o DirOptions) (*Dir, error) {
	o = o.withDefaults()
	d := &Dir{opts: o, log: o.Logger, disk: o.Disk, logs: map[topicPartition]*Log{}, ghosts: map[topicPartition]uint64{}}
	if err := d.open(); err != nil {
		if d.lock != nil {
			d.lock.Close()
		}
		return nil, fmt.Errorf("log dir %s: %w", o.Path, err)
	}
	return d, nil
}

func (o DirOptions) withDefaults() DirOptions {
	if o.SlabBytes == 0 {
		o.SlabBytes = defaultSlabBytes
	}
	if o.CheckpointBytes == 0 {
		o.CheckpointBytes = defaultCheckpointBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.RetentionCheckInterval == 0 {
		o.RetentionCheckInterval = defaultRetentionCheck
	}
	if o.RecoveryThreads <= 0 {
		o.RecoveryThreads = runtime.NumCPU()
	}
	if o.Commit == "" {
		o.Commit = commitAuto
	}
	if o.Disk == nil {
		o.Disk = RealDisk{}
	}
	return o
}

func (d *Dir) open() (err error) {
	if err := os.MkdirAll(d.opts.Path, 0o755); err != nil {
		return err
	}
	if d.lock, err = lockDir(d.opts.Path); err != nil {
		return err
	}
	if err := d.checkMeta(); err != nil {
		return err
	}
	if err := d.chooseIO(); err != nil {
		return err
	}
	engine, why, err := uring.New(d.opts.Engine, writeDepth+1)
	if err != nil {
		return err
	}
	d.engineName = fmt.Sprintf("%s (%s)", engine.Name(), why)
	if err := d.loadState(); err != nil {
		return err
	}
	if err := d.openJournal(); err != nil {
		return err
	}
	d.rounds = newRounds(d)
	if d.opts.Commit == commitJournal {
		d.rounds.prepare()
	}
	d.pool = slab.New(d.opts.SlabBytes)
	mostLively, mostReading := fileLimits(d.opts.Dirs)
	d.files = &handleCache{max: mostReading}
	d.lively = lively{most: mostLively, logs: map[*Log]struct{}{}}
	if d.opts.LivelyLogs > 0 {
		d.lively.most = d.opts.LivelyLogs
	}
	if d.directFlag != 0 {
		d.files.blocks = coldBlocks()
	}
	d.opening = make(chan struct{}, max(openAtOnce, d.opts.RecoveryThreads))
	d.recovering = make(chan struct{}, d.opts.RecoveryThreads)
	d.unpacking = make(chan struct{}, runtime.GOMAXPROCS(0))
	d.naming.dir = d
	d.keeper = newKeeper(d.saveRecoveryPoints)
	if d.writer, err = newWriter(d, d.disk.Engine(engine)); err != nil {
		return err
	}
	started := make(chan error, 1)
	go d.writer.run(started)
	if err := <-started; err != nil {
		return fmt.Errorf("I/O engine %s: %w", engine.Name(), err)
	}
	go d.keeper.run()
	go d.rounds.run()
	d.scrubber = startScrubber(d)
	d.house = startHousekeeping(d)
	return nil
}

// chooseIO decides between direct and buffered I/O by trying.
func (d *Dir) chooseIO() error {
	d.align, d.ioName = 1, "buffered"
	switch d.opts.IO {
	case "buffered":
		return nil
	case "direct", "auto", "":
	default:
		return fmt.Errorf("unknown I/O mode %q (auto, direct, buffered)", d.opts.IO)
	}
	err := probeDirect(d.opts.Path)
	if err == nil {
		d.directFlag, d.align, d.ioName = unix.O_DIRECT, blockSize, "direct"
		return nil
	}
	if d.opts.IO == "direct" {
		return fmt.Errorf("log.io is direct, and direct I/O is not to be had: %v", err)
	}
	d.ioName = fmt.Sprintf("buffered (direct I/O: %v)", err)
	return nil
}

// probeDirect writes one block with O_DIRECT and RWF_DSYNC.
func probeDirect(dir string) error {
	path := filepath.Join(dir, ".probe.tmp")
	fd, err := openFd(path, unix.O_RDWR|unix.O_CREAT|unix.O_TRUNC|unix.O_DIRECT)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	defer unix.Close(fd)
	mem, err := unix.Mmap(-1, 0, blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer unix.Munmap(mem)
	_, err = unix.Pwritev2(fd, [][]byte{mem}, 0, unix.RWF_DSYNC)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return nil // a full disk says nothing against direct writes, and must not keep the node from starting
	}
	return err
}

// loadState reads the checkpoints and the clean-shutdown marker, removes the marker, and clears away what was
// deleted before the last stop.
func (d *Dir) loadState() (err error) {
	if d.recoveryPoints, err = loadOffsetCheckpoint(d.disk, filepath.Join(d.opts.Path, recoveryPointFile)); err != nil {
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		d.log.Warn("recovery points unreadable; logs are read from their start", "err", err)
	}
	if d.startOffsets, err = loadOffsetCheckpoint(d.disk, filepath.Join(d.opts.Path, startOffsetFile)); err != nil {
		if !errors.Is(err, ErrCorrupt) {
			return err
		}
		d.log.Error("log start offsets unreadable; deleted records may be visible again", "err", err)
	}
	if err := d.compaction.load(d); err != nil {
		return err
	}
	if d.clean, err = d.takeMarker(); err != nil {
		return err
	}
	if err := d.makeReserve(); err != nil {
		d.log.Warn("no space for the reserve", "dir", d.opts.Path, "err", err)
		d.reserveGone.Store(errors.Is(err, unix.ENOSPC))
	}
	return nil
}

// OpenLog creates or recovers the partition's directory. It reads what recovery must and may be called from many
// goroutines at once. OnDurable is not called for what is found. ErrClosed after Close. ErrNoSpace: the disk is full; it
// can be tried again when there is space.
func (d *Dir) OpenLog(topic string, partition int32, o LogOptions) (*Log, error) {
	return d.openLog(topicPartition{topic, partition}, func() *Log { return newLog(d, topic, partition, o) })
}

func (d *Dir) openLog(tp topicPartition, create func() *Log) (*Log, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, ErrClosed
	}
	if _, taken := d.logs[tp]; taken {
		d.mu.Unlock()
		return nil, fmt.Errorf("open log %s: already open", d.logPath(tp))
	}
	d.logs[tp] = nil // taken; nobody else sees the log before it is recovered
	ghost := d.ghosts[tp]
	d.mu.Unlock()
	// What the journal has of a log of the same name that was deleted would be taken for this one's after a crash.
	for ghost != 0 && ghost >= d.journal.Live() && d.offline() == nil && !d.isClosed() {
		d.rounds.recycle()
	}
	d.opening <- struct{}{}
	var l *Log
	err := d.sparing(func() error {
		l = create()
		return l.open()
	})
	if noSpace(err) {
		err = fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	<-d.opening
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && d.closed {
		err = ErrClosed
	}
	if err != nil {
		if noSpace(err) {
			_ = d.disk.Remove(l.path) // it goes only if it is empty: half made
		}
		delete(d.logs, tp)
		return nil, fmt.Errorf("open log %s: %w", l.path, err)
	}
	d.logs[tp] = l
	if l.unsettled && d.unsettled.add(l) {
		d.mu.Unlock()
		err = d.settle([]*Log{l})
		d.mu.Lock()
	}
	return l, err
}

// logPath is the directory of a partition.
func (d *Dir) logPath(tp topicPartition) string {
	return filepath.Join(d.opts.Path, fmt.Sprintf("%s-%d", tp.topic, tp.partition))
}

func (d *Dir) forget(tp topicPartition, l *Log) {
	d.lively.remove(l)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.logs[tp] == l {
		delete(d.logs, tp)
	}
}

// remember notes that the journal has something of a log that was deleted.
func (d *Dir) remember(l *Log) {
	d.mu.Lock()
	defer d.mu.Unlock()
	live := d.journal.Live()
	for tp, generation := range d.ghosts {
		if generation < live {
			delete(d.ghosts, tp)
		}
	}
	if l.journaled >= live {
		d.ghosts[topicPartition{l.topic, l.partition}] = l.journaled
	}
}

func (d *Dir) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// all returns the open logs.
func (d *Dir) all() []*Log {
	d.mu.Lock()
	defer d.mu.Unlock()
	logs := make([]*Log, 0, len(d.logs))
	for _, l := range d.logs {
		if l != nil {
			logs = append(logs, l)
		}
	}
	return logs
}

// saveRecoveryPoints writes the recovery points that the keeper has collected.
func (d *Dir) saveRecoveryPoints() {
	if err := d.recoveryPoints.write(); err != nil {
		d.log.Warn("recovery points not written; the next start reads more", "err", err)
	}
}

// Err is why the dir is offline, nil if it is not.
func (d *Dir) Err() error {
	if p := d.failure.Load(); p != nil {
		return *p
	}
	return nil
}

// offline is what an append is answered while the dir is offline.
func (d *Dir) offline() error {
	if p := d.failure.Load(); p != nil {
		return fmt.Errorf("%w: %w", ErrDirOffline, *p)
	}
	return nil
}

// fail takes the dir offline for good: nothing is acknowledged any more. Every log's owner is told. No lock is held.
func (d *Dir) fail(err error) {
	if d.failure.CompareAndSwap(nil, &err) {
		d.tellFailed(err)
	}
}

func (d *Dir) tellFailed(err error) {
	d.log.Error("log dir offline", "dir", d.opts.Path, "err", err)
	for _, l := range d.all() {
		l.mu.Lock()
		l.idle.Broadcast()
		l.mu.Unlock()
		l.fail(err)
	}
	if d.opts.OnOffline != nil {
		d.opts.OnOffline(err)
	}
}

// failSoon is fail for callers that hold a lock.
func (d *Dir) failSoon(err error) {
	if d.failure.CompareAndSwap(nil, &err) {
		go d.tellFailed(err)
	}
}

// Engine names the engine that writes and why it was chosen.
func (d *Dir) Engine() string { return d.engineName }

// IO is "direct" or "buffered", with the reason if it is not what was asked for first.
func (d *Dir) IO() string { return d.ioName }

// Path is the directory.
func (d *Dir) Path() string { return d.opts.Path }

// ID is directory.id of meta.properties: whatever path it is mounted at, the dir is known by it.
func (d *Dir) ID() string { return d.id }

// WasClean says that the last process that used the dir shut down cleanly.
func (d *Dir) WasClean() bool { return d.clean }

// Usage is the size of the file system and what of it an unprivileged process may still use, bytes; 0, 0 if it cannot be
// asked.
func (d *Dir) Usage() (totalBytes, usableBytes int64) {
	var st unix.Statfs_t
	if err := unix.Statfs(d.opts.Path, &st); err != nil {
		return 0, 0
	}
	return int64(st.Blocks) * st.Bsize, int64(st.Bavail) * st.Bsize
}

func (d *Dir) nowMs() int64 { return d.opts.Now().UnixMilli() }

// wantMemory has slabs of idle logs given back, on the keeper. Called under a log's lock.
func (d *Dir) wantMemory() {
	if d.starved.Swap(true) {
		return
	}
	d.keeper.soon(func() {
		d.starved.Store(false)
		for _, l := range d.lively.list() {
			l.mu.Lock()
			l.tail.rest(0)
			l.mu.Unlock()
		}
		d.rounds.request() // what only the journal has is in slabs
	})
}
