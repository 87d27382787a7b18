// Leader: its state, and the loop that proposes views.

package leader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/agreement"
	"github.com/trefoildb/trefoil/internal/cluster/gossip"
	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Leader is what a node does while Raft has elected it. Every member has one; it acts only while
// it leads. Its methods are safe for concurrent use.
//
// Raft agrees on a sequence of views, but not on when a member stops to act by an old one. A machine
// that is cut off, or that stood still, must not answer reads after the others have gone on without
// it. So a member answers only during a lease, and the leader excludes a silent member only when none
// of its leases can run any more, whichever leader granted it. No record must outlive a leader,
// because members repeat their reports, and machines and operators their wishes.
//
// Invariants:
//
//  1. A lease is granted only to a member of the newest view that has adopted it, and only after a
//     proof of leadership that began after its report had come. The proof is of the same term as the
//     records ([Leader.Receive], grants.grant).
//  2. The lease runs at its holder from before the report was made. Here it counts as running from
//     the grant, and for a tenth longer (Drift), because clocks differ in their rates. So it ends
//     there first. A new leader assumes that each member got a lease when its own term began.
//  3. A member that the next view lacks gets no lease under the present one from the decision on,
//     because plan decides and bars under one lock. The bar is lifted only if the proposal surely
//     failed.
//  4. Nothing is proposed before this node has all views of earlier leaders ([Leader.Run], ready), and
//     nothing in this term after a member has shown a view that is missing here (remembers).
//  5. After the first view only Run proposes, one view at a time. If that does not follow on the newest view, the
//     agreement refuses it ([agreement.ErrConflict]).
//
// The loop, at each tick and when a report has news:
//
//	makeWay: be silent if the own disk is blocked and most voters have reported since
//	not elected: forget leases and reports (resign)
//	elected anew: begin new records (lead), wait until all agreed views are here (knowsAll)
//	plan:
//	    collect the wishes, what gossip shows, and each member's last report
//	    this node itself must be excluded: hand the leadership on
//	    view.Plan: the next view, or what it waits for; bar the members that it lacks
//	no next view: let the voters follow the members (arrangeVoters)
//	a change that can wait, and a member that does not answer: wait for it, or for its exclusion
//	propose: agreed on, surely refused (lift the bars), or unknown (they stay)
//
// The decision itself is a function of values, so that it can be explored without a process: see
// [view.Plan]. The route of a report is in the package comment.
type Leader struct {
	// Disk is how long this machine's disk keeps a write waiting. A member must call it.
	Disk DiskWatch

	options   Options
	agreement *agreement.Agreement
	grants    grants
	wishes    wishes
	wake      notify.Wake
	gaveWay   bool // to another leader; only Run may use it, and the next two
	// Optional changes wait under the view of an epoch since a time; 0 is none.
	waitsUnder uint64
	waitsSince time.Duration
	reminded   reminder

	mu      sync.Mutex
	waiting string // guarded by mu: why the leader waits
}

// Options are the parameters of [New]; all are required.
type Options struct {
	Self trie.MachineID
	// Lease and FailureTimeout are those of this node's configuration.
	Lease, FailureTimeout time.Duration
	// Now is the clock of leases.
	Now func() time.Duration
	// Gossip returns the members by gossip.
	Gossip func() map[trie.MachineID]gossip.Peer
	// Reach returns nil if a member answers now.
	Reach func(ctx context.Context, m view.Member) error
	// Yields reports whether this machine must not stand for election.
	Yields func() bool
	Logger *slog.Logger
}

// New returns the leader's part of a member, which takes part in an agreement.
func New(ag *agreement.Agreement, o Options) *Leader {
	return &Leader{options: o, agreement: ag, wake: notify.NewWake()}
}

// Wake makes the leader look at the members at once.
func (l *Leader) Wake() { l.wake.Send() }

// Waiting returns why the leader waits, "" if it does not.
func (l *Leader) Waiting() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

func (l *Leader) setWaiting(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = s
}

// tick is the interval at which the leader checks the members if nothing wakes it.
const tick = 100 * time.Millisecond

// Run does the leader's work while this node leads, until ctx ends.
func (l *Leader) Run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for ready := uint64(0); ; { // the term in which it has all agreed views
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-l.wake:
		}
		ag := l.agreement
		silent := l.makeWay()
		if !ag.IsLeader() {
			l.grants.resign()
			l.setWaiting("")
			continue
		}
		l.grants.lead(ag.Term(), l.options.Now())
		if silent {
			l.setWaiting(waitsForDisk)
			continue
		}
		// After a start the view is an old one at first. By it the leader would take votes from
		// later members, although a majority may need them.
		if term := ag.Term(); ready != term {
			if l.knowsAll(ctx) != nil {
				continue
			}
			ready = term
		}
		if v := ag.View(); v != nil {
			l.proposeNext(ctx, v)
		}
	}
}

// knowsAll waits until the leader has every view agreed on before it led.
func (l *Leader) knowsAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.options.Lease)
	defer cancel()
	return l.agreement.Verify(ctx)
}

// proposeNext proposes the next view if there is one, and arranges the voters otherwise.
func (l *Leader) proposeNext(ctx context.Context, v *view.View) {
	l.reminded.remind(v, l.options.Now(), l.options.Logger)
	// 1. Plan. If this leader itself is the obstacle, hand the leadership on.
	next, reason, wait := l.plan(v)
	l.setWaiting(wait)
	if slices.Contains([]string{waitsForAnother, waitsToHandOn, waitsToAdopt, waitsForRoom}, wait) {
		timed, cancel := context.WithTimeout(ctx, l.options.Lease)
		defer cancel()
		if err := l.agreement.TransferLeadership(timed); err != nil && ctx.Err() == nil {
			l.options.Logger.Warn("the leadership was not handed on", "error", err)
		}
		return
	}
	// 2. If no view is due, check the voters.
	if next == nil {
		l.waitsUnder = 0
		l.arrangeVoters(ctx, v)
		return
	}
	// 3. Do not begin what can wait while a member is gone. If it is excluded, the plan changes. If it
	// reports all the same, waiting would have no end.
	if optional(v, next) {
		if gone := l.unreachable(ctx, v); len(gone) > 0 && l.waited(v) < l.options.FailureTimeout+l.options.Lease {
			l.setWaiting(fmt.Sprintf("an answer of %d members, of %s first, before this: %s", len(gone), gone[0], reason))
			l.arrangeVoters(ctx, v)
			return
		}
	}
	// 4. Propose. The bars must stay if the result is unknown, because the view may still come.
	l.options.Logger.Info("proposing a view", "epoch", next.Epoch, "phase", next.Phase, "members", len(next.Members), "reason", reason)
	timed, cancel := context.WithTimeout(ctx, l.options.Lease)
	defer cancel()
	err := l.agreement.Propose(timed, next)
	if err != nil && !errors.Is(err, agreement.ErrUnknown) {
		l.grants.unbar()
	}
	if err != nil && !errors.Is(err, agreement.ErrConflict) && ctx.Err() == nil {
		l.options.Logger.Warn("a view was not agreed on", "epoch", next.Epoch, "error", err)
	}
}

// optional reports whether next changes only what idle members do and hold: segments are split, moved
// or merged, the number of copies or the length of leases changes, a loss is accepted, or a load goes on.
func optional(v, next *view.View) bool {
	// A view that overrules another one has the same members, too, and must come before exclusions.
	return v.Phase == recovery.Idle && slices.Equal(v.Members, next.Members) && v.Parent == next.Parent
}

// waited returns for how long optional changes of a view have waited for members.
func (l *Leader) waited(v *view.View) time.Duration {
	now := l.options.Now()
	if l.waitsUnder != v.Epoch {
		l.waitsUnder, l.waitsSince = v.Epoch, now
	}
	return now - l.waitsSince
}

// unreachable queries all other members of v, and returns those that give none. A refusal
// is an answer.
//
// A member that has died a moment ago is not suspected yet. If a view with it is adopted, readers
// of the change feed wait until it is excluded, because it may have stamped operations under the
// view before. Under its last view they need not, see changes.Feed.ReadPosition.
func (l *Leader) unreachable(ctx context.Context, v *view.View) []trie.MachineID {
	ctx, cancel := context.WithTimeout(ctx, l.options.Lease/4)
	defer cancel()
	errs := make([]error, len(v.Members))
	var requests sync.WaitGroup
	for i, m := range v.Members {
		if m.ID != l.options.Self {
			requests.Go(func() { errs[i] = l.options.Reach(ctx, m) })
		}
	}
	requests.Wait()
	var ids []trie.MachineID
	for i, err := range errs {
		var refusal *peer.Refusal
		if err != nil && !errors.As(err, &refusal) {
			ids = append(ids, v.Members[i].ID)
		}
	}
	return ids
}
