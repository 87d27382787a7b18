// Node: its parts, their start and their end.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/changes"
	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/loads"
	"github.com/trefoildb/trefoil/internal/cluster/lock"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/store/directory"
)

// Node is one machine of a cluster, or a lone one, which may become a member. It starts, joins and
// ends; the types it embeds do the rest, each with its own state. Its methods are safe for
// concurrent use.
type Node struct {
	*membership // the process, the adopted view, the parts of a member
	*isolation  // the lease, and the way to a leader
	*peers      // messages to and from other nodes
	*triples    // reads and writes of clients
	*admin      // requests of operators
	*status     // the state of the cluster

	reporter *reporter
	work     *work
	backfill *backfill.Filler
	upkeep   *upkeep.Upkeep
	writes   *writes.Writes
	reads    *reads.Reads
	loads    *loads.Loads
	changes  *changes.Feed
	throttle *throttle.Throttle

	follows bool          // it is a member of a generation that began elsewhere
	mayForm atomic.Bool   // it has started as a lone node, which forms a cluster if another machine joins
	forming chan struct{} // holds a token while a cluster is being formed

	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	failOnce sync.Once
	failed   chan struct{}
	err      error // set before failed is closed
}

// Start begins to serve the store's machine. If the directory belongs to a cluster, the node is
// its member again. If Join is set, the node begins to join; [Node.Joined] is closed when it is a
// member. Otherwise it is alone until another machine joins it. ctx bounds the start alone.
func Start(ctx context.Context, cfg Config) (_ *Node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	// 1. Make the parts, count the incarnation durably, and open the port.
	cfg = cfg.withDefaults()
	n := &Node{
		membership: &membership{cfg: cfg, log: cfg.Logger, store: cfg.Store, self: cfg.Store.MachineID(), admission: admission{joined: make(chan struct{})}},
		throttle:   throttle.New(cfg.Clock.Now, cfg.RebuildShare), failed: make(chan struct{}), forming: make(chan struct{}, 1),
	}
	n.peers = &peers{membership: n.membership, address: cfg.Advertise, later: &laterGeneration{membership: n.membership}, throttle: n.throttle}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.incarnation, err = n.store.NextIncarnation(); err != nil {
		return nil, err
	}
	n.gate = gate.New(n.self, n.incarnation)
	if err := n.listen(ctx); err != nil {
		return nil, err
	}
	if n.reporter.seen, err = n.store.Beats().LastView(); err != nil {
		return nil, err
	}
	// 2. Read this machine's past from the directory.
	identity, member := n.store.Identity()
	word, err := directory.ReadRejoin(cfg.FS, n.store.Dir())
	if err != nil {
		return nil, err
	}
	n.follows = member && len(word) > 0
	n.cfg.Join = slices.Clone(cfg.Join)
	for _, a := range word { // because the members of Join may be gone
		if !slices.Contains(n.cfg.Join, a) {
			n.cfg.Join = append(n.cfg.Join, a)
		}
	}
	n.known = n.cfg.Join
	// 3. Resume, join, or stay alone.
	switch {
	case member && identity.Cluster != cfg.Name:
		return nil, fmt.Errorf("%w: the directory belongs to %q, not to %q: say --cluster %s", ErrWrongCluster, identity.Cluster, cfg.Name, identity.Cluster)
	case member:
		err = n.resume(ctx, identity)
	case len(n.cfg.Join) > 0:
		return n, n.startJoin()
	default:
		n.mayForm.Store(true)
	}
	close(n.admission.joined)
	return n, err
}

// maxRequests bounds the concurrent requests of other nodes. At most half of them may be reads,
// because these may last as long as their clients take. Waiting writes have bounds of their own.
// So deliveries and reports always have room, because leases would end without them.
const maxRequests = 1024

func (c *Config) maxReads() int { return c.maxRequests / 2 }

// listen opens the port and answers other nodes on it.
func (n *Node) listen(ctx context.Context) (err error) {
	// 1. Open the port, because the address of this machine may depend on it.
	n.port, err = port.Listen(ctx, port.Options{
		Network: n.cfg.Network, Listen: n.cfg.Listen, Cluster: func() string { return n.cfg.Name }, ClusterID: n.clusterID,
		Closed: n.cfg.Closed, TLS: n.cfg.TLS, Secret: n.cfg.Secret, MaxConnections: n.cfg.MaxConnections, Logger: n.log,
	})
	if err != nil {
		return err
	}
	if n.address == "" {
		n.address = n.port.Addr().String()
	}
	n.client = peer.NewClient(n.dial(port.Peer), n.header, peer.ClientOptions{})
	n.server = peer.NewServer(peer.Options{
		Check: n.checkHeader, Watch: n.watchRequest, MaxConcurrent: n.cfg.maxRequests, Shares: map[string]int{"reads": n.cfg.maxReads(), changes.Group: n.cfg.maxReads() / 2}, Tracer: n.cfg.Tracer, Logger: n.log,
	})
	// 2. The parts register their handlers before the server accepts a connection.
	if err := n.makeParts(); err != nil {
		return err
	}
	// 3. Serve. Everything above must be set by now, because handlers use it.
	n.run(func() { n.fail(n.port.Serve()) })
	n.run(func() { n.fail(n.server.Serve(n.port.Peer())) })
	quiet := &quietTimes{n.membership, n.throttle}
	n.run(func() { quiet.run(n.ctx) })
	return nil
}

// makeParts makes the parts that a lone node has, too, and registers their handlers.
func (n *Node) makeParts() (err error) {
	cfg := &n.cfg
	// 1. The member, and what runs on it.
	n.isolation = &isolation{membership: n.membership, closing: n.ctx, later: n.peers.later}
	local := localMember{n.membership, n.isolation, n.peers}
	n.writes = writes.New(n.store, local, n.process(), writes.Options{})
	reader := readMember{local, n.writes}
	if n.reads, err = reads.New(n.store, reader, reader, n.self, reads.Options{}); err != nil {
		return err
	}
	n.changes = changes.New(n.store, local, n.writes, n.process(), n.ctx.Done())
	n.status = &status{membership: n.membership, peers: n.peers, isolation: n.isolation, closing: n.ctx, err: n.Err}
	wishes := &loadLeader{n.membership, n.peers, n.status}
	n.loads = loads.New(n.store, local, wishes, n.process(), loads.Options{
		Dir: cfg.LoadDir, MinSegmentBytes: cfg.MinSegmentBytes, MaxSegmentBytes: cfg.MaxSegmentBytes, Logger: n.log,
	})
	// 2. The work under views.
	n.backfill = backfill.New(n.store, n.gate, n.peers, backfill.Options{
		Throttle: n.throttle, Now: n.leaseTime, MoveRate: cfg.MoveRate, Closing: n.ctx, Logger: n.log,
	})
	n.reporter = &reporter{
		membership: n.membership, end: n.end, due: notify.NewWake(),
		peers: n.peers, isolation: n.isolation, status: n.status, writes: n.writes, loads: n.loads, backfill: n.backfill,
	}
	n.work = &work{
		membership: n.membership, backfill: n.backfill, loads: n.loads, throttle: n.throttle, start: n.run, report: n.reporter.due.Send,
	}
	n.reporter.work = n.work
	n.upkeep = upkeep.New(n.store, n.gate, n.writes, n.peers, upkeep.Options{
		PurgeEvery: cfg.PurgeEvery, ScrubEvery: cfg.ScrubEvery, ScrubRate: max(cfg.ScrubRate, 0), Swept: n.work.Swept, Closing: n.ctx, Logger: n.log,
	})
	n.status.upkeep = n.upkeep
	// 3. The requests of clients and operators.
	n.triples = &triples{
		membership: n.membership, writes: n.writes, reads: n.reads, loads: n.loads, changes: n.changes, upkeep: n.upkeep, throttle: n.throttle,
		lock: lock.New(local, n.self), start: n.run,
	}
	if cfg.ColumnMemory > 0 {
		n.triples.columns = newMemberColumns(n.triples, cfg.ColumnMemory, n.store.ColumnFile())
	}
	n.admin = &admin{n.membership, n.peers}
	n.register(wishes)
	return nil
}

// register makes the requests of other nodes answered.
func (n *Node) register(wishes *loadLeader) {
	n.server.Handle(methodJoin, n.handleJoin)
	n.server.Handle(methodWho, func(context.Context, peer.Header, []byte) ([]byte, error) { return nil, nil })
	n.Handle(methodReport, n.reporter.answer)
	n.Handle(methodStatus, n.status.answer)
	n.Handle(methodVersions, n.answerVersions)
	n.Handle(methodWish, wishes.answer)
	n.admin.register()
	n.writes.Register(n.server)
	n.loads.Register(n.server)
	n.reads.Register(n.server)
	n.changes.Register(n.server)
	n.triples.lock.Register(n.server)
}

// run starts a task. Close waits for it.
func (n *Node) run(task func()) {
	n.tasks.Go(task)
}

// fail ends the node if err is not nil and it is not being closed.
func (n *Node) fail(err error) {
	if err != nil && n.ctx.Err() == nil {
		n.end(err)
	}
}

// end records that the node has ended for good, and why.
func (n *Node) end(err error) {
	n.failOnce.Do(func() {
		n.err = err
		close(n.failed)
	})
}

// Failed is closed when the node cannot go on; Err returns the reason. The node must still be
// closed.
func (n *Node) Failed() <-chan struct{} { return n.failed }

// Err returns why the node ended, nil while it runs.
func (n *Node) Err() error {
	select {
	case <-n.failed:
		return n.err
	default:
		return nil
	}
}

// Closed is closed when the node is being closed.
func (n *Node) Closed() <-chan struct{} { return n.ctx.Done() }

// Close ends the node. The store stays open.
func (n *Node) Close() error {
	// 1. New work is refused.
	n.cancel()
	if n.triples != nil {
		n.triples.lock.Close()
	}
	if n.writes != nil {
		n.writes.Close()
	}
	if n.triples != nil && n.triples.columns != nil {
		n.triples.columns.cache.Close()
	}
	// 2. What runs ends, then the port closes. The task of joining may start gossip, so it ends first.
	n.admission.task.Wait()
	var errs []error
	if p := n.parts.Load(); p != nil {
		if p.gossip != nil {
			errs = append(errs, p.gossip.Close())
		}
		errs = append(errs, p.agreement.Close())
	}
	if n.server != nil {
		n.client.Close()
		ended, cancel := context.WithCancel(context.Background())
		cancel() // handlers end now: their work is refused or already ambiguous
		n.server.Close(ended)
	}
	if n.loads != nil {
		n.loads.Close()
	}
	if n.port != nil {
		errs = append(errs, n.port.Close())
	}
	n.tasks.Wait()
	return errors.Join(errs...)
}

// Port returns the node's port, for its endpoints.
func (n *Node) Port() *port.Port { return n.port }

// Upkeep returns the purges and scrubs of this member.
func (n *Node) Upkeep() *upkeep.Upkeep { return n.upkeep }

// Swept reports whether the view is idle and this machine has only rows of its places.
func (n *Node) Swept() bool { return n.work.Swept() }
