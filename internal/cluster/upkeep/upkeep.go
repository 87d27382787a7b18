// Upkeep: the state of purges and scrubs, and when the leader begins one.

package upkeep

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/throttle"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Leader is the agreement and the reports, as the leader has them.
type Leader interface {
	IsLeader() bool
	Term() uint64
	// PurgeFacts returns the members' reports for purges. It leaves Since and Every zero.
	PurgeFacts(v *view.View) PurgeFacts
}

// Writes is the sequencer and holder of this machine, see package writes.
type Writes interface {
	Bounds() (writes.Bounds, error)
	SetFloors(f replica.Floors)
	// Reconciled reports whether all operations of earlier epochs are committed, as far as
	// this machine knows.
	Reconciled() bool
}

// Peers sends messages to other members and registers the answers to theirs.
type Peers interface {
	Call(ctx context.Context, to trie.MachineID, method string, body []byte) ([]byte, error)
	Handle(method string, h peer.Handler)
}

// Options are the parameters of [New]; all are required.
type Options struct {
	// PurgeEvery is the interval of purges if there are few tombstones; negative: never.
	PurgeEvery time.Duration
	// ScrubEvery is the interval of scrubs; negative: never. ScrubRate bounds a member's reads
	// for them, in bytes of rows a second.
	ScrubEvery time.Duration
	ScrubRate  int64
	// Swept reports whether this machine has only rows of its places in the adopted view.
	Swept   func() bool
	Closing context.Context // ends when the node is closed
	Logger  *slog.Logger
}

// Upkeep is a member's part in purges, scrubs and checks, both as their leader and as an
// answering member.
type Upkeep struct {
	store   *replica.Store
	gate    *gate.Gate
	writes  Writes
	peers   Peers
	options Options

	scans chan struct{} // has a token for each pass over this machine's rows

	purges atomic.Int64 // that this node has led to their ends
	purged atomic.Int64 // tombstones of this machine

	mu      sync.Mutex // guards the fields below
	number  uint64     // of the last purge that this machine has taken the floors of
	running bool       // this node leads a purge or scrub
	scrub   store.Scrub
	ended   time.Time // of the last scrub
}

// New returns the upkeep of a member and registers its methods.
func New(s *replica.Store, g *gate.Gate, w Writes, p Peers, o Options) *Upkeep {
	u := &Upkeep{store: s, gate: g, writes: w, peers: p, options: o, scans: make(chan struct{}, maxScans)}
	u.register()
	return u
}

// Purges returns the number of purges completed by this node as the leader.
func (u *Upkeep) Purges() int64 { return u.purges.Load() }

// Purged returns the number of tombstones deleted by this machine.
func (u *Upkeep) Purged() int64 { return u.purged.Load() }

// maxScans bounds the concurrent passes over a machine's rows.
const maxScans = 2

func (u *Upkeep) begin() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.running {
		return false
	}
	u.running = true
	return true
}

func (u *Upkeep) end() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running = false
}

func (u *Upkeep) purgeNumber() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.number
}

// takeNumber makes a purge the last one. It returns false if there was a later one.
func (u *Upkeep) takeNumber(number uint64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if number <= u.number {
		return false
	}
	u.number = number
	return true
}

// recordScrub adds the result of a scrub to the status.
func (u *Upkeep) recordScrub(r Report, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := &u.scrub
	s.Differences += r.Differences
	s.Repaired += r.Repaired
	s.Left, s.Rows, s.Seconds, s.Error = r.Left+r.Foreign+r.Unreadable, r.Rows, r.Seconds, ""
	if err != nil {
		s.Error = err.Error()
		return
	}
	s.Passes++
	u.ended = time.Now()
}

// Status returns the scrubs led by this node, nil if none.
func (u *Upkeep) Status() *store.Scrub {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.scrub == (store.Scrub{}) {
		return nil
	}
	s := u.scrub
	if !u.ended.IsZero() {
		s.Age = time.Since(u.ended).Seconds()
	}
	return &s
}

// tick is the interval of the leader's checks if a purge or scrub is due.
const tick = 5 * time.Second

// Run purges and scrubs while this node leads, until ctx ends. A new leader waits a whole
// interval before its first purge and scrub.
func (u *Upkeep) Run(ctx context.Context, leader Leader) {
	term, purged, scrubbed := uint64(0), time.Time{}, time.Time{}
	for ; ctx.Err() == nil; throttle.Wait(ctx, tick) {
		if !leader.IsLeader() {
			term = 0
			continue
		}
		// 1. A new leader begins its intervals anew.
		if current := leader.Term(); current != term {
			term, purged, scrubbed = current, time.Now(), time.Now()
		}
		v := u.gate.View()
		if v == nil {
			continue
		}
		// 2. Purge and scrub if they are due.
		facts := leader.PurgeFacts(v)
		facts.Since, facts.Every = time.Since(purged), u.options.PurgeEvery
		if facts.due() {
			u.leadPurge(ctx)
			purged = time.Now()
		}
		if v.Phase == recovery.Idle && facts.Quiet && u.options.ScrubEvery > 0 && u.options.ScrubRate > 0 && time.Since(scrubbed) >= u.options.ScrubEvery {
			scrubbed = time.Now()
			if !u.leadScrub(ctx) {
				scrubbed = scrubbed.Add(u.options.ScrubEvery/scrubRetry - u.options.ScrubEvery)
			}
		}
	}
}

func (u *Upkeep) leadPurge(ctx context.Context) {
	start := time.Now()
	purged, err := u.Purge(ctx)
	if err != nil {
		u.options.Logger.Info("a purge did not come to its end", "tombstones", purged, "error", err)
		return
	}
	u.purges.Add(1)
	u.options.Logger.Info("purged", "tombstones", purged, "took", time.Since(start))
}

// scrubRetry divides the interval to the next scrub if one was not completed, because the view
// changed for example. The retry is soon, but not so soon as to never end.
const scrubRetry = 50

// leadScrub reports whether the scrub was completed.
func (u *Upkeep) leadScrub(ctx context.Context) bool {
	r, err := u.Scrub(ctx)
	if err != nil {
		u.options.Logger.Info("a scrub did not come to its end", "error", err)
		return false
	}
	u.options.Logger.Info("scrubbed", "rows", r.Rows, "differences", r.Differences, "repaired", r.Repaired, "left", r.Left)
	return true
}
