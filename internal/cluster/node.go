// Node: its parts, their start and their end.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/gossip"
	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/loads"
	"github.com/trefoildb/trefoil/internal/cluster/member"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/port"
	"github.com/trefoildb/trefoil/internal/cluster/reads"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/upkeep"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/trie"
)

// Node is one machine of a cluster, or a lone one, which may become a member. Its methods are
// safe for concurrent use.
type Node struct {
	cfg         Config
	log         *slog.Logger
	store       *replica.Store
	self        trie.MachineID
	incarnation uint64
	address     string     // that others reach it at
	seen        store.Seen // the newest view that the disk had adopted when the process began
	follows     bool       // it is a member of a generation that began elsewhere
	seeds       []string   // where members were when the process ended; set before all tasks

	port   *port.Port
	client *peer.Client
	server *peer.Server
	writes *writes.Writes
	reads  *reads.Reads
	loads  *loads.Loads

	gate     *gate.Gate
	backfill *backfill.Filler
	upkeep   *upkeep.Upkeep
	work     *work

	reports atomic.Uint64 // that were made
	leaving atomic.Bool   // this machine was, in the last view that had it
	lease   lease
	asked   asked
	cut     cut
	stale   stale
	apart   apart

	noMajority noMajority

	// alone excludes the change from a node alone to a cluster of one: operations on
	// the lone store hold it for reading.
	alone sync.RWMutex
	parts atomic.Pointer[parts] // nil while alone
	// forming and updating hold a token while a cluster is being formed, and while an
	// update of the cluster runs.
	forming, updating chan struct{}
	throttle          *throttle.Throttle

	wakeLease chan struct{} // holds a token

	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	failOnce sync.Once
	failed   chan struct{}
	err      error // set before failed is closed
}

// parts exist only on a member.
type parts struct {
	agreement *agreement.Agreement
	leader    *leader.Leader
	gossip    *gossip.Gossip
}

// Start begins to serve the store's machine. If the directory belongs to a cluster, the node is
// its member again. If Join is set, the node joins; Start returns when it is a member or ctx
// ends. Otherwise it is alone until another machine joins it.
func Start(ctx context.Context, cfg Config) (_ *Node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	// 1. Make the parts, count the incarnation durably, and open the port.
	cfg = cfg.withDefaults()
	n := &Node{
		cfg: cfg, log: cfg.Logger, store: cfg.Store, self: cfg.Store.MachineID(),
		wakeLease: make(chan struct{}, 1),
		failed:    make(chan struct{}), forming: make(chan struct{}, 1), updating: make(chan struct{}, 1),
	}
	n.throttle = throttle.New(cfg.Clock.Now, cfg.RebuildShare)
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
	if n.seen, err = n.store.Seen(); err != nil {
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
	// 3. Resume, join, or stay alone.
	switch {
	case member && identity.Cluster != cfg.Name:
		return nil, fmt.Errorf("%w: the directory belongs to %q, not to %q: say --cluster %s", ErrWrongCluster, identity.Cluster, cfg.Name, identity.Cluster)
	case member:
		err = n.resume(ctx, identity)
	case len(n.cfg.Join) > 0:
		err = n.join(ctx)
	}
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
	n.address = n.cfg.Advertise
	if n.address == "" {
		n.address = n.port.Addr().String()
	}
	// 2. The parts must register their handlers before the server accepts a connection.
	n.client = peer.NewClient(n.dialPeer, n.header, peer.ClientOptions{})
	n.server = peer.NewServer(peer.Options{
		Check: n.checkHeader, Watch: n.watch, MaxConcurrent: n.cfg.maxRequests, Shares: map[string]int{"reads": n.cfg.maxReads()}, Logger: n.log,
	})
	n.writes = writes.New(n.store, n, n.process(), writes.Options{})
	reader := readMember{n}
	if n.reads, err = reads.New(n.store, reader, reader, n.self, reads.Options{}); err != nil {
		return err
	}
	n.loads = n.newLoads()
	n.register()
	n.backfill = backfill.New(n.store, n.gate, n, backfill.Options{
		Throttle: n.throttle, Now: n.cfg.Clock.Now, MoveRate: n.cfg.MoveRate, Closing: n.ctx, Logger: n.log,
	})
	n.work = &work{node: n}
	n.upkeep = upkeep.New(n.store, n.gate, n.writes, n, upkeep.Options{
		PurgeEvery: n.cfg.PurgeEvery, ScrubEvery: n.cfg.ScrubEvery, ScrubRate: max(n.cfg.ScrubRate, 0), Swept: n.work.hasSwept, Closing: n.ctx, Logger: n.log,
	})
	// 3. Serve. Everything above must be set by now, because handlers use it.
	n.run(func() { n.fail(n.port.Serve()) })
	n.run(func() { n.fail(n.server.Serve(n.port.Peer())) })
	n.run(func() { n.useQuietTimes(n.ctx) })
	return nil
}

// clusterID returns the ID of the directory's cluster, "" if it has none.
func (n *Node) clusterID() string {
	identity, _ := n.store.Identity()
	return identity.ClusterID
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
	n.cancel()
	n.writesClose()
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

func (n *Node) writesClose() {
	if n.writes != nil {
		n.writes.Close()
	}
}

// Port returns the node's port, for its endpoints.
func (n *Node) Port() *port.Port { return n.port }

// Address returns the node's address for others.
func (n *Node) Address() string { return n.address }

// MachineID returns the machine's ID.
func (n *Node) MachineID() trie.MachineID { return n.self }

// process returns the entry a view must have while this process is a member.
func (n *Node) process() member.Process {
	return member.Process{Machine: n.self, Incarnation: n.incarnation}
}

// View returns the adopted view; nil while the node is alone.
func (n *Node) View() *view.View { return n.gate.View() }

func (n *Node) agreement() *agreement.Agreement { return n.parts.Load().agreement }

func (n *Node) leader() *leader.Leader { return n.parts.Load().leader }

// gossiped returns how the members are by gossip.
func (n *Node) gossiped() map[trie.MachineID]gossip.Peer {
	p := n.parts.Load()
	if p == nil || p.gossip == nil {
		return nil
	}
	return p.gossip.Snapshot()
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
