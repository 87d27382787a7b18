// The torture's hosts: processes, clocks and disks.

package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
)

// host is a machine whose process is started again when it ends, as an operator
// has it: one that was excluded sets its data aside and joins as a new one.
type host struct {
	torture *torture
	name    string
	spare   bool
	clock   *clock

	mu      sync.Mutex
	disk    *memdisk.FS
	process *process // nil where it is not to run
	left    bool     // it was asked to leave, and is not to come back
	flipped bool     // a bit of its disk
	// anywhere, where a bit is flipped that is not of a table: however the process
	// ends then, its disk is replaced.
	anywhere bool
	frozen   atomic.Bool // its process is stopped for a while
	// rolledBack: its disk may lack the tables of a load that the cluster has agreed on.
	rolledBack bool
	graphDir   string // files of the last process's graph of links
}

// clock goes at a rate of its own, a few in a hundred off.
type clock struct {
	start time.Time
	rate  float64
	ahead atomic.Int64 // by jumps
}

func (c *clock) Now() time.Duration {
	return time.Duration(float64(time.Since(c.start))*c.rate) + time.Duration(c.ahead.Load())
}

// process is one start of a host's process, with all that follow until it is
// ended from outside.
type process struct {
	host *host
	disk *memdisk.FS
	fs   *shakyFS // disk, for the process
	join []string
	// loads is where the runs of bulk loads are: a process that was killed and the
	// next one share none.
	loads string
	dead  atomic.Bool   // killed: whatever it still answers reaches nobody
	end   chan struct{} // closed when it is to end
	gone  chan struct{} // closed when it has

	mu    sync.Mutex
	node  *cluster.Node // nil while it is not a member
	store *replica.Store
	// service runs update functions, and deliveries subscriptions, if the torture has some.
	service    *functions.Service
	deliveries *subscriptions.Manager
	// graph is the graph of links, if the torture has one. Its files are in graphDir.
	graph    *linkgraph.Graph
	graphDir string
}

// running returns the node, nil where there is none at the moment.
func (p *process) running() (*cluster.Node, *replica.Store) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.node, p.store
}

func (p *process) publish(n *cluster.Node, s *replica.Store) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.node, p.store = n, s
}

// start starts the host's process; join are addresses of members.
func (h *host) start(join ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.process != nil || h.left {
		return
	}
	p := &process{host: h, disk: h.disk, fs: &shakyFS{FS: h.torture.world.events.disk(h.name, h.disk)}, join: join, loads: h.torture.t.TempDir(), end: make(chan struct{}), gone: make(chan struct{})}
	h.process = p
	if h.torture.links {
		p.graphDir = h.torture.t.TempDir()
		if h.graphDir != "" {
			// A process that was killed may still write. Files without a checksum in the list are left over.
			_ = os.CopyFS(p.graphDir, os.DirFS(h.graphDir))
		}
		h.graphDir = p.graphDir
	}
	go func() {
		defer close(p.gone)
		for p.once() {
			select {
			case <-time.After(500 * time.Millisecond):
			case <-p.end:
				return
			}
		}
	}()
}

// once runs a node until it ends; it reports whether to start another one.
func (p *process) once() (again bool) {
	h, t := p.host, p.host.torture
	log := t.world.log.With("machine", h.name)
	db, err := replica.Open(dataDir, store.Options{
		FS: p.fs, Member: true, MemTableBytes: 1 << 20, CacheBytes: 4 << 20, MinFreeBytes: watermark, MaxSegmentBytes: 1 << 20, Logger: log,
	}, replica.Options{})
	if err != nil {
		switch {
		case p.replaceDisk() || p.giveUpDisk(err) || p.dead.Load():
		case p.diskErred(err):
			return true
		default:
			t.fail("%s: open: %v", h.name, err)
		}
		return false
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-p.end:
			cancel()
		case <-ctx.Done():
		}
	}()
	n, err := cluster.Start(ctx, cluster.Config{
		Store: db, Listen: h.name + ":7000", Spare: h.spare, Network: t.world.net.Host(h.name), FS: p.fs, Clock: h.clock, Join: p.join,
		MoveRate: t.moveRate, Copies: t.copies, MinSegmentBytes: 4 << 10, MaxSegmentBytes: 64 << 10, LoadDir: p.loads, Logger: log,
	})
	if err == nil {
		if err = n.AwaitJoined(ctx); err != nil {
			err = errors.Join(err, n.Close())
		}
	}
	if err != nil {
		p.replaceDisk()
		db.Close()
		if p.giveUpDisk(err) {
			return false
		}
		if !p.dead.Load() && ctx.Err() == nil {
			log.Warn("the start failed", "error", err)
		}
		return ctx.Err() == nil
	}
	if t.functions.Load() {
		p.openFunctions(n)
	}
	if t.links {
		p.openGraph(n)
	}
	p.publish(n, db)
	select {
	case <-p.end:
	case <-n.Failed():
	case <-db.Failed():
	}
	p.replaceDisk()
	p.publish(nil, nil)
	why, members := n.Err(), n.Members()
	if err := p.closeFunctions(); err != nil {
		t.fail("%s: close the functions: %v", h.name, err)
	}
	p.closeGraph()
	if err := n.Close(); err != nil && !p.dead.Load() {
		t.fail("%s: close: %v", h.name, err)
	}
	if err := db.Close(); err != nil && !p.dead.Load() {
		t.fail("%s: close the store: %v", h.name, err)
	}
	h.mu.Lock()
	if why != nil && !errors.Is(why, cluster.ErrExcluded) && (h.anywhere || h.rolledBack && errors.Is(why, store.ErrCorrupt)) && !h.left {
		h.mu.Unlock()
		p.giveUpDisk(why)
		return false
	}
	defer h.mu.Unlock()
	switch {
	case h.process != p || why == nil || h.left:
		return false
	case !errors.Is(why, cluster.ErrExcluded) && p.diskErred(why):
		return true
	case !errors.Is(why, cluster.ErrExcluded):
		t.fail("%s ended: %v", h.name, why)
		return false
	}
	t.excluded.Add(1)
	if _, err := directory.SetAside(p.disk, dataDir, members); err != nil {
		t.fail("%s: set aside: %v", h.name, err)
		return false
	}
	return true
}

// diskErred reports whether why is the error of a failed read of the disk. The machine may
// be started again after that.
func (p *process) diskErred(why error) bool {
	return p.fs.erred.Load() && (errors.Is(why, errDisk) || errors.Is(why, store.ErrCorrupt))
}

// replaceDisk starts the machine again where a sync has failed: what was not
// synced is lost, as in a power cut. It reports whether one has.
func (p *process) replaceDisk() bool {
	if !p.fs.broken.Load() {
		return false
	}
	if p.host.up() == p {
		p.host.killBy(rand.New(rand.NewPCG(p.host.torture.world.seed, 4)), false)
		p.host.start(p.join...)
	}
	return true
}

// flip flips a bit of a table while the process does not run, and returns which one.
func (h *host) flip() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	tables, err := tablesOf(h.disk)
	if err == nil && len(tables) > 0 {
		table := tables[h.torture.random.IntN(len(tables))]
		h.flipped = true
		if err = flipBit(h.disk, table, h.torture.random); err == nil {
			return table
		}
	}
	if err != nil {
		h.torture.fail("%s: flip a bit: %v", h.name, err)
	}
	return "none, it has no tables"
}

// flipFile flips a bit of a file of any kind while the process does not run, and
// returns which one.
func (h *host) flipFile() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.torture.random
	files, err := filesOf(h.disk, dataDir)
	if err == nil && len(files) > 0 {
		var kinds []string
		for _, f := range files {
			if k := kindOfFile(f); !slices.Contains(kinds, k) {
				kinds = append(kinds, k)
			}
		}
		kind := kinds[r.IntN(len(kinds))]
		files = slices.DeleteFunc(files, func(f string) bool { return kindOfFile(f) != kind })
		path := files[r.IntN(len(files))]
		h.flipped, h.anywhere = true, true
		if err = flipAnywhere(h.disk, path, r); err == nil {
			return path
		}
	}
	if err != nil {
		h.torture.fail("%s: flip a bit of a file: %v", h.name, err)
	}
	return "none"
}

// freeze stops the process for some time, as SIGSTOP or a pause of its virtual
// machine does: it neither receives nor sends, and those that asked it wait.
func (h *host) freeze(by time.Duration) {
	h.frozen.Store(true)
	h.torture.world.net.Freeze(h.name)
	time.Sleep(by)
	h.thaw()
}

func (h *host) thaw() {
	h.torture.world.net.Thaw(h.name)
	h.frozen.Store(false)
}

// await returns when the process is not stopped.
func (p *process) await() {
	for p.host.frozen.Load() && !p.dead.Load() {
		time.Sleep(5 * time.Millisecond) // of virtual time
	}
}

// giveUpDisk starts the machine with an empty disk where the process did not start
// since a bit is flipped. It reports whether it has.
func (p *process) giveUpDisk(err error) bool {
	h := p.host
	h.mu.Lock()
	mine := h.process == p && (h.flipped || h.rolledBack) && (h.anywhere || errors.Is(err, store.ErrCorrupt))
	h.mu.Unlock()
	if mine {
		h.kill(true)
		h.start(h.torture.addresses(h)...)
	}
	return mine
}

// kill ends the process as a power cut does; blank: the disk is lost, too.
func (h *host) kill(blank bool) { h.killBy(h.torture.random, blank) }

func (h *host) killBy(r *rand.Rand, blank bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.process
	if p == nil {
		return
	}
	h.process = nil
	p.dead.Store(true)
	h.frozen.Store(false)
	h.torture.world.net.Kill(h.name)
	if blank {
		h.graphDir = ""
		h.disk, h.flipped, h.anywhere, h.rolledBack = memdisk.New(), false, false, false
	} else {
		kept := r.IntN(101)
		if p.fs.lies.Load() {
			kept = 0
		}
		h.disk = p.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: r})
	}
	close(p.end)
	h.torture.mu.Lock()
	defer h.torture.mu.Unlock()
	h.torture.corpses = append(h.torture.corpses, p)
}

// killAtSync kills the process just before one of its next syncs.
func (h *host) killAtSync(n int, seed uint64) {
	p := h.up()
	if p == nil {
		return
	}
	p.fs.do = func() { h.killBy(rand.New(rand.NewPCG(seed, 3)), false) }
	p.fs.left.Store(int64(n))
}

// failAtSync makes one of the next syncs of the process fail, and all after it.
func (h *host) failAtSync(n int) {
	p := h.up()
	if p == nil {
		return
	}
	p.fs.do = func() { p.fs.broken.Store(true) }
	p.fs.left.Store(int64(n))
}

// onDisk does something to the disk of the process.
func (h *host) onDisk(do func(f *shakyFS)) {
	if p := h.up(); p != nil {
		do(p.fs)
	}
}

// fill takes so many quarters of the disk's watermark, 0 none.
func (h *host) fill(quarters int64) {
	if p := h.up(); p != nil {
		p.fs.taken.Store(quarters)
	}
}

// rollBack makes the disk what it was some time ago, when it ends the process.
func (h *host) rollBack(after time.Duration) {
	p := h.up()
	if p == nil {
		return
	}
	r := h.torture.random
	before := p.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
	time.Sleep(after)
	h.kill(false)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.disk, h.rolledBack = before, true
}

// stop ends the process in order, and waits for that.
func (h *host) stop() {
	h.mu.Lock()
	p := h.process
	h.process = nil
	h.mu.Unlock()
	if p == nil {
		return
	}
	close(p.end)
	<-p.gone
}

func (h *host) up() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process
}

// member returns the host's node where it runs as a member.
func (h *host) member() *cluster.Node {
	p := h.up()
	if p == nil {
		return nil
	}
	n, _ := p.running()
	return n
}

// addresses are those of all hosts but one.
func (t *torture) addresses(but *host) (all []string) {
	for _, h := range t.hosts {
		if h != but && !slices.Contains(t.left, h) {
			all = append(all, h.name+":7000")
		}
	}
	return all
}
