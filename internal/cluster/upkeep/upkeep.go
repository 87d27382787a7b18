// The type Upkeep: its options, its parts, and when the leader purges and scrubs.

package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/gate"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/retry"
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
	*members
	*purger
	*scrubber
}

// New returns the upkeep of a member and registers its methods.
func New(s *replica.Store, g *gate.Gate, w Writes, p Peers, o Options) *Upkeep {
	ms := &members{store: s, gate: g, writes: w, peers: p, options: o}
	pu := &purger{members: ms}
	u := &Upkeep{members: ms, purger: pu, scrubber: &scrubber{members: ms, purger: pu}}
	rs := &rowServer{members: ms, purger: pu, scans: make(chan struct{}, maxScans)}
	ms.handlers = map[string]handler{
		methodBounds:    pu.handleBounds,
		methodFloors:    pu.handleFloors,
		methodPurge:     pu.handlePurge,
		methodDigest:    rs.handleDigest,
		methodList:      rs.handleList,
		methodLook:      rs.handleLook,
		methodRepair:    rs.handleRepair,
		methodCheck:     rs.handleCheck,
		methodCommitted: u.handleCommitted,
	}
	for method, handle := range ms.handlers {
		p.Handle(method, func(ctx context.Context, h peer.Header, body []byte) ([]byte, error) {
			return handle(ctx, h.Epoch, body)
		})
	}
	return u
}

// tick is the interval of the leader's checks if a purge or scrub is due.
const tick = 5 * time.Second

// Run purges and scrubs while this node leads, until ctx ends. A new leader waits a whole
// interval before its first purge and scrub.
func (u *Upkeep) Run(ctx context.Context, leader Leader) {
	term, purged, scrubbed := uint64(0), time.Time{}, time.Time{}
	for ; ctx.Err() == nil; retry.Sleep(ctx, tick) {
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

// levelOf returns the level of a line about upkeep that did not come to its end. A view that changes ends it as
// well as a machine that is down, and it is tried again, so that only other errors are warnings.
func levelOf(ctx context.Context, err error) slog.Level {
	if ctx.Err() != nil || errors.Is(err, store.ErrUnavailable) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func (u *Upkeep) leadPurge(ctx context.Context) {
	start := time.Now()
	purged, err := u.Purge(ctx)
	if err != nil {
		u.options.Logger.Log(ctx, levelOf(ctx, err), "a purge did not come to its end", "tombstones", purged, "error", err)
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
		u.options.Logger.Log(ctx, levelOf(ctx, err), "a scrub did not come to its end", "error", err)
		return false
	}
	u.options.Logger.Info("scrubbed", "rows", r.Rows, "differences", r.Differences, "repaired", r.Repaired, "left", r.Left)
	return true
}
