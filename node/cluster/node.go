package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/agreement"
	"github.com/trefoildb/trefoil/node/gossip"
	"github.com/trefoildb/trefoil/node/loads"
	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/port"
	"github.com/trefoildb/trefoil/node/reads"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/node/writes"
	"github.com/trefoildb/trefoil/trie"
)

// Node is one machine of a cluster, or one that is alone and may become one.
// Its methods may be called at the same time.
type Node struct {
	cfg         Config
	log         *slog.Logger
	store       *node.Store
	self        trie.MachineID
	incarnation uint64
	address     string    // that others reach it at
	seen        node.Seen // the newest view that the disk had adopted when the process began
	follows     bool      // it is a member of a generation that began elsewhere
	seeds       []string  // where members were when the process ended; set before all tasks

	port   *port.Port
	client *peer.Client
	server *peer.Server
	writes *writes.Writes
	reads  *reads.Reads
	loads  *loads.Loads

	// gate is held for reading while something of an epoch is applied, and for
	// writing while a view is adopted.
	gate    sync.RWMutex
	current atomic.Pointer[view.View] // the adopted view; changes under the gate
	reports atomic.Uint64             // that were made
	leaving atomic.Bool               // this machine was, in the last view that had it
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
	disk              stall
	grants            grants
	wishes            wishes
	work              work
	upkeep            upkeep
	pace              *pace

	wakeLease, wakeLead chan struct{} // hold a token
	mu                  sync.Mutex
	changed             chan struct{} // closed when a view is adopted
	waiting             string        // what the leader waits for

	ctx      context.Context
	cancel   context.CancelFunc
	tasks    sync.WaitGroup
	failOnce sync.Once
	failed   chan struct{}
	err      error // set before failed is closed
}

// parts are what only a member has.
type parts struct {
	agreement *agreement.Agreement
	gossip    *gossip.Gossip
}

// Start begins to serve the store's machine. Where the directory belongs to a
// cluster, the node is its member again; where Join names one, it joins it, and
// Start returns when it is a member or ctx ends; otherwise it is alone until
// another machine joins it.
func Start(ctx context.Context, cfg Config) (_ *Node, err error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	n := &Node{
		cfg: cfg, log: cfg.Logger, store: cfg.Store, self: cfg.Store.MachineID(),
		wakeLease: make(chan struct{}, 1), wakeLead: make(chan struct{}, 1),
		changed: make(chan struct{}), failed: make(chan struct{}), forming: make(chan struct{}, 1), updating: make(chan struct{}, 1),
	}
	n.pace = newPace(cfg.Clock, cfg.RebuildShare)
	n.upkeep.scans = make(chan struct{}, maxScans)
	n.ctx, n.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if n.incarnation, err = n.store.NextIncarnation(); err != nil {
		return nil, err
	}
	if err := n.listen(ctx); err != nil {
		return nil, err
	}
	if n.seen, err = n.store.Seen(); err != nil {
		return nil, err
	}
	identity, member := n.store.Identity()
	word, err := node.Rejoin(cfg.FS, n.store.Dir())
	if err != nil {
		return nil, err
	}
	n.follows = member && len(word) > 0
	n.cfg.Join = slices.Clone(cfg.Join)
	for _, a := range word { // what it was told to join may be there no more
		if !slices.Contains(n.cfg.Join, a) {
			n.cfg.Join = append(n.cfg.Join, a)
		}
	}
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

// maxRequests is how many requests of other nodes are answered at a time. Half of them
// may be reads, which may last as long as their clients take. Those of writes that wait
// have bounds of their own, so that deliveries and reports always have room: without
// them leases end.
const maxRequests = 1024

func (c *Config) maxReads() int { return c.maxRequests / 2 }

// listen opens the port and answers other nodes on it.
func (n *Node) listen(ctx context.Context) (err error) {
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
	n.client = peer.NewClient(n.dialPeer, n.header, peer.ClientOptions{})
	n.server = peer.NewServer(peer.Options{
		Check: n.checkHeader, Watch: n.watch, MaxConcurrent: n.cfg.maxRequests, Shares: map[string]int{"reads": n.cfg.maxReads()}, Logger: n.log,
	})
	n.writes = writes.New(n.store, clusterOfWrites{n}, writes.Options{})
	if n.reads, err = reads.New(n.store, clusterOfReads{n}, reads.Options{}); err != nil {
		return err
	}
	n.loads = n.newLoads()
	n.register()
	n.registerUpkeep()
	n.run(func() { n.fail(n.port.Serve()) })
	n.run(func() { n.fail(n.server.Serve(n.port.Peer())) })
	n.run(func() { n.useQuietTimes(n.ctx) })
	return nil
}

// clusterID returns the ID of the cluster that the directory belongs to, "" if it
// belongs to none.
func (n *Node) clusterID() string {
	identity, _ := n.store.Identity()
	return identity.ClusterID
}

// run starts a task that Close waits for.
func (n *Node) run(task func()) {
	n.tasks.Go(task)
}

// fail ends the node where err is not nil and it is not being closed.
func (n *Node) fail(err error) {
	if err != nil && n.ctx.Err() == nil {
		n.end(err)
	}
}

// end says that the node has ended for good, and why.
func (n *Node) end(err error) {
	n.failOnce.Do(func() {
		n.err = err
		close(n.failed)
	})
}

// Failed is closed when the node can go on no more; Err tells why. It still has
// to be closed.
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

// Port returns the node's port, for its doors.
func (n *Node) Port() *port.Port { return n.port }

// Address returns what others reach the node at.
func (n *Node) Address() string { return n.address }

// MachineID returns the machine's ID.
func (n *Node) MachineID() trie.MachineID { return n.self }

// View returns the view that the node has adopted; nil while it is alone.
func (n *Node) View() *view.View { return n.current.Load() }

func (n *Node) agreement() *agreement.Agreement { return n.parts.Load().agreement }

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

func (n *Node) wakeLeader() { wake(n.wakeLead) }

func (n *Node) setWaiting(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waiting = s
}
