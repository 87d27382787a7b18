// Package agreement keeps the one value all nodes of a cluster agree on, the view, by Raft
// (github.com/hashicorp/raft). The log, Raft's own values and its snapshots are in a Pebble
// database of their own, see store.go. The replicated state machine is one [view.View], and a
// command is the next one, whole.
//
// After a restart [Agreement.View] is the view of the last snapshot, or nil, until a leader is
// heard, because later entries of the log may not be agreed on.
package agreement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/trie"
)

var (
	// ErrNotLeader: only the leader can do this; nothing was done.
	ErrNotLeader = errors.New("agreement: this node is not the leader")
	// ErrConflict: the view does not follow on the newest one; nothing was done.
	ErrConflict = errors.New("agreement: the view does not follow on the newest")
	// ErrUnknown: the change may have been done, or may still be. A later View shows it.
	ErrUnknown = errors.New("agreement: it is not known whether the change was agreed on")
	// ErrClosed: the agreement was closed; nothing was done.
	ErrClosed = errors.New("agreement: closed")
	// ErrLogLost: the directory is a member's, and its log of agreed views is missing or older
	// than before. The machine must not start, because it could found a second cluster, or forget
	// an agreed view.
	ErrLogLost = errors.New("the log of the cluster's views is missing")
)

// DirName is the directory of the agreement's log, below a data directory.
const DirName = "raft"

const (
	defaultTimeout = 500 * time.Millisecond
	defaultCommit  = 20 * time.Millisecond
	rpcTimeout     = 2 * time.Second
	closeTimeout   = 10 * time.Second
	answerTimeout  = 2 * time.Second // of Raft, before it is shut down
	poolConns      = 3

	// If a node is further behind than this, it gets a snapshot instead of entries, because an
	// entry is a whole view, and so is a snapshot.
	trailingEntries  = 64
	snapshotEntries  = 64
	snapshotInterval = 30 * time.Second
	maxAppendEntries = 16
	cachedEntries    = 4 // the newest ones, in memory
)

// Config configures [Open]. If a duration is zero, it has its default.
type Config struct {
	ID trie.MachineID
	// Address is this node's host:port for others.
	Address string
	// Lineage returns the history of this node, "" while it has none yet; nil is "". It is called
	// for each connection. If a node has another one, its connection is closed.
	Lineage func() string
	// Dir is the directory of the database, in FS; nil is the disk.
	Dir string
	FS  vfs.FS
	// Listener and Dial are Raft's connections of the shared port. Close closes the listener.
	Listener net.Listener
	Dial     func(ctx context.Context, address string) (net.Conn, error)
	// Heartbeat is how long a follower waits for the leader until it stands for
	// election (500 ms, at random up to twice as long), Election how long a
	// candidate waits for votes (as Heartbeat), LeaderLease after how long without
	// a majority a leader steps down (as Heartbeat, and no longer).
	Heartbeat, Election, LeaderLease time.Duration
	// Now is the clock of Led. It may be nil if Led is not called.
	Now func() time.Duration
	// CommitTimeout is the delay before followers learn of a commit if no other message follows
	// (20 ms).
	CommitTimeout time.Duration
	Logger        *slog.Logger
	// OnFatal, if set, is called once, in a goroutine of its own, when the disk has failed. Then
	// this node takes no part any more until its process starts anew.
	OnFatal func(error)

	trailing uint64 // entries kept behind a snapshot, for tests; 0: trailingEntries
}

func (c Config) withDefaults() Config {
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = defaultTimeout
	}
	if c.Election == 0 {
		c.Election = c.Heartbeat
	}
	if c.LeaderLease == 0 {
		c.LeaderLease = c.Heartbeat
	}
	if c.CommitTimeout == 0 {
		c.CommitTimeout = defaultCommit
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Lineage == nil {
		c.Lineage = func() string { return "" }
	}
	if c.trailing == 0 {
		c.trailing = trailingEntries
	}
	return c
}

func (c Config) raft() *raft.Config {
	r := raft.DefaultConfig()
	r.LocalID = serverID(c.ID)
	r.HeartbeatTimeout = c.Heartbeat
	r.ElectionTimeout = c.Election
	r.LeaderLeaseTimeout = c.LeaderLease
	r.CommitTimeout = c.CommitTimeout
	r.MaxAppendEntries = maxAppendEntries
	r.TrailingLogs = c.trailing
	r.SnapshotThreshold = snapshotEntries
	r.SnapshotInterval = snapshotInterval
	r.Logger = &logger{log: c.Logger}
	r.NoLegacyTelemetry = true
	// The node may be taken up again, and its owner ends it otherwise.
	r.ShutdownOnRemove = false
	return r
}

// Agreement is this node's part in it. Its methods may be called at any time by
// any number of goroutines.
type Agreement struct {
	cfg     Config
	store   *store
	codec   *codec
	machine *machine
	streams *streams
	calm    *calm
	raft    *raft.Raft
	running atomic.Pointer[raft.Raft] // raft, for calls from Raft; nil until raft is set
	mute    atomic.Bool               // see Silence

	heartbeats heartbeats
	members    chan struct{} // held while the members change
	closing    chan struct{}
	once       sync.Once
	closed     error

	mu         sync.Mutex
	questions  int              // questions to Raft that have no answer yet
	answered   chan struct{}    // closed when there are none any more; nil before the end
	leadership notify.Broadcast // something about leadership changes
	readyTerm  uint64           // all of earlier terms is applied since this node leads it
	silent     map[raft.ServerID]bool
	matched    map[raft.ServerID]uint64 // entries that others have, while this node leads
	advanced   notify.Broadcast         // matched or silent changes
	sent       uint64                   // the number of the last request to another server
	confirmed  map[raft.ServerID]confirmation
	confirms   notify.Broadcast // confirmed changes
	nextRound  *round           // the proof that has not begun; nil if no call waits for one
	proving    bool             // prove runs
	led        time.Duration    // when this node last found or lost a leader
}

// Open opens the database in cfg.Dir, or begins anew there. If a node has no state, it takes part
// only when a leader has made it a member, or Bootstrap was called.
func Open(cfg Config) (*Agreement, error) {
	cfg = cfg.withDefaults()
	if cfg.ID == 0 || cfg.Address == "" || cfg.Listener == nil || cfg.Dial == nil {
		return nil, errors.New("agreement: the configuration lacks ID, address, listener or dialer")
	}
	s, err := openStore(cfg.FS, cfg.Dir, cfg.Logger, cfg.OnFatal)
	if err != nil {
		return nil, err
	}
	c, err := newCodec()
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	a := &Agreement{
		cfg: cfg, store: s, codec: c, machine: newMachine(c), streams: newStreams(cfg), calm: newCalm(cfg.Heartbeat),
		members: make(chan struct{}, 1), closing: make(chan struct{}),
		confirmed: map[raft.ServerID]confirmation{},
		silent:    map[raft.ServerID]bool{}, matched: map[raft.ServerID]uint64{},
	}
	if err := a.start(); err != nil {
		a.codec.close()
		return nil, errors.Join(err, s.close())
	}
	return a, nil
}

func (a *Agreement) start() error {
	transport := &transport{raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		Logger: &logger{log: a.cfg.Logger}, Stream: a.streams, MaxPool: poolConns, Timeout: rpcTimeout,
		// No pipelines: every entry is seen by transport.AppendEntries, and Raft's
		// pipelines read a peer's address while it is changed.
		MaxRPCsInFlight: 1,
	}), a}
	// Raft reads the previous entry, a whole view, for each message to a follower.
	logs, err := raft.NewLogCache(cachedEntries, a.store)
	if err != nil {
		return errors.Join(fmt.Errorf("agreement: %w", err), transport.Close())
	}
	err = a.store.guard(func() (err error) {
		a.raft, err = raft.NewRaft(a.cfg.raft(), a.machine, logs, a.store, a.store, transport)
		return err
	})
	if a.raft == nil {
		return errors.Join(fmt.Errorf("agreement: %s: %w", a.cfg.Dir, err), transport.Close())
	}
	a.running.Store(a.raft)
	a.raft.RegisterObserver(raft.NewObserver(nil, false, a.observe))
	a.store.opened.Store(true)
	return nil
}

// observe records Raft's observations. Raft's goroutines call it, as a filter that lets nothing
// through. So nothing is lost, and no reader is needed.
func (a *Agreement) observe(o *raft.Observation) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch data := o.Data.(type) {
	case raft.RaftState, raft.LeaderObservation:
		a.led = a.elapsed()
		clear(a.silent)
		clear(a.matched)
		clear(a.confirmed)
		a.leadership.Send()
	case raft.FailedHeartbeatObservation:
		a.silent[data.PeerID] = true
	case raft.ResumedHeartbeatObservation:
		delete(a.silent, data.PeerID)
	case raft.PeerObservation:
		delete(a.silent, data.Peer.ID)
		delete(a.matched, data.Peer.ID)
		delete(a.confirmed, data.Peer.ID)
	default:
		return false
	}
	a.advanced.Send()
	return false
}

// progress records the last entry of a server.
func (a *Agreement) progress(id raft.ServerID, index uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.silent, id)
	if index > a.matched[id] {
		a.matched[id] = index
		a.advanced.Send()
	}
}

// HasState reports whether this node was ever bootstrapped or made a member.
func (a *Agreement) HasState() (bool, error) {
	has, err := raft.HasExistingState(a.store, a.store, a.store)
	if err != nil {
		return false, fmt.Errorf("agreement: %w", err)
	}
	return has, nil
}

// View returns the newest view known to be agreed on, nil if none.
func (a *Agreement) View() *view.View { return a.machine.view() }

// Changed returns a channel. It is closed when View returns another one. It must be taken before
// View.
func (a *Agreement) Changed() <-chan struct{} { return a.machine.changed.Next() }

// Leader returns the leader as far as this node knows.
func (a *Agreement) Leader() (id trie.MachineID, address string, ok bool) {
	at, _ := a.raft.LeaderWithID()
	id, address, err := parseAddress(at)
	return id, address, err == nil
}

// Led returns whether this node has a leader. If not, until is the time by [Config.Now] when it
// lost the last one. This node has not answered a leader since.
func (a *Agreement) Led() (led bool, until time.Duration) {
	if _, _, led := a.Leader(); led {
		return true, 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	// Raft drops its leader before observe is called, so led may be too early.
	if heard := a.raft.LastContact(); !heard.IsZero() {
		return false, max(a.led, a.elapsed()-time.Since(heard))
	}
	return false, a.led
}

func (a *Agreement) elapsed() time.Duration {
	if a.cfg.Now == nil {
		return 0
	}
	return a.cfg.Now()
}

// IsLeader reports whether this node may be the leader; only Verify proves it.
func (a *Agreement) IsLeader() bool {
	return a.store.err() == nil && a.raft.State() == raft.Leader
}

// Term returns the term. A leader's decisions of an earlier term do not count.
func (a *Agreement) Term() uint64 { return a.raft.CurrentTerm() }

// LeadershipChanged returns a channel. It is closed when another leader, or none, is known, or
// this node becomes or ceases to be it. It must be taken before IsLeader, Leader and Term.
func (a *Agreement) LeadershipChanged() <-chan struct{} { return a.leadership.Next() }

// Stats are figures for metrics.
type Stats struct {
	Leader                       bool
	Term, Committed, Applied     uint64
	FirstEntry, LastEntry        uint64
	Voters, Learners, Unanswered int
	// LastContact is the time since the leader was heard, 0 on the leader, and negative if none
	// was heard yet.
	LastContact time.Duration
}

// Stats returns figures for metrics.
func (a *Agreement) Stats() Stats {
	voters, learners := a.Configuration()
	s := Stats{
		Leader: a.IsLeader(), Term: a.raft.CurrentTerm(), Committed: a.raft.CommitIndex(), Applied: a.raft.AppliedIndex(),
		Voters: len(voters), Learners: len(learners),
	}
	a.store.mu.RLock()
	s.FirstEntry, s.LastEntry = a.store.first, a.store.last
	a.store.mu.RUnlock()
	a.mu.Lock()
	s.Unanswered = len(a.silent)
	a.mu.Unlock()
	switch last := a.raft.LastContact(); {
	case s.Leader:
	case last.IsZero():
		s.LastContact = -1
	default:
		s.LastContact = time.Since(last)
	}
	return s
}

// Close ends this node's part. It waits for running writes, ten seconds at most. If that is not
// enough, it returns an error, and the database stays open.
func (a *Agreement) Close() error {
	a.once.Do(func() { a.closed = a.close() })
	return a.closed
}

func (a *Agreement) close() error {
	a.lastAnswers()
	down := a.raft.Shutdown()
	err := a.streams.Close()
	done := make(chan error, 1)
	go func() {
		failed := down.Error()
		a.heartbeats.end() // the log must not be closed under them
		done <- failed
	}()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case failed := <-done:
		err = errors.Join(err, failed)
	case <-timer.C:
		return errors.Join(err, errors.New("agreement: close: the disk does not answer"))
	}
	a.codec.close()
	return errors.Join(err, a.store.close())
}
