// The plan of the leader: its decision from reports, wishes and options.

package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// Report is the leader's record of a member.
type Report struct {
	// Incarnation is the incarnation of its process; zero is not known. Its report about itself
	// counts only if this is the view's.
	Incarnation uint64
	Address     string
	Minor       uint64 // of the protocol
	// Self describes it as a member while it comes back. It is nil from a release without
	// this field.
	Self *Member
	// Epoch is the epoch of the adopted view; Walked, Swept and Reconciled belong to it. Walked:
	// its backfill is done and all of it is durable. Swept: no row outside of its places is left.
	// Reconciled: no operation on it waits for a lost sequencer or is its own from an earlier
	// epoch.
	Epoch                     uint64
	Walked, Swept, Reconciled bool
	// MayHoldLease: a lease that this or an earlier leader granted may not be over.
	MayHoldLease bool
	// Suspect: it does not report.
	Suspect bool
	// Stuck: it is heard, and has adopted no further view for too long.
	Stuck bool
	// Accuses are holders, maybe itself, that owe it an answer for too long.
	Accuses []trie.MachineID
	// Room is how many bytes it has free above its watermark. Full: it takes no adds.
	Room int64
	Full bool
	// Damaged: its disk has returned other bytes than were written to it.
	Damaged bool
	// DiskShows: its disk has all rows others know it to have had. It counts only if the machine
	// came back: in a later incarnation than the view's, or waiting. Unproven: the proof it owes
	// is not known yet, so DiskShows is undecided.
	DiskShows, Unproven bool
	// Mark is how many batches of fills and tables it is counted on to have.
	Mark uint64
	// Followed is the epoch of the parent generation that it had adopted when it was kept
	// for this one.
	Followed uint64
	// Bytes is about how much it holds.
	Bytes int64
	// Splits are where it requests its segments to be split.
	Splits []SplitAt
	// Small are its own shrunk segments: two of them are far from a split. It reports them in
	// quiet times.
	Small []uint64
	// Ingested: it has taken in the load of the epoch, durably.
	Ingested bool
	// Staging are the loads of which it makes tables.
	Staging []string
}

// Wishes are the requests of machines and operators.
type Wishes struct {
	Join []Member
	// Leave: their data is moved elsewhere, then they are removed.
	Leave []trie.MachineID
	// Remove: they are not waited for any more, whether or not most members are
	// there. Excluded machines among them are dismissed.
	Remove []trie.MachineID
	// AcceptLoss: what is there of lost ranges is to count as all.
	AcceptLoss bool
	// Copies is how many machines are to hold each triple; 0 leaves it.
	Copies int
	// Rebalance: whatever share of the segments is misplaced.
	Rebalance bool
	// Splits are where segments are to be split, beside what members request.
	Splits []SplitAt
	// Begin are loads that need a number, Publish those that are staged, Drop those
	// that are given up.
	Begin   []LoadBegin
	Publish []LoadPublish
	Drop    []string
}

// PlanOptions are the parameters of [Plan]. The zero value is ready to use.
type PlanOptions struct {
	// Self is the leader, which is not suspected and becomes the oracle.
	Self trie.MachineID
	// Misplaced is from which share of misplaced segments on they are moved. A walk
	// reads everything, so it should be worth it. Zero is an eighth.
	Misplaced float64
	// Voters are the machines that agree on views.
	Voters []trie.MachineID
	// Tolerant: no member with data is excluded for being slow, since another one was
	// not long ago.
	Tolerant bool
}

// DefaultMisplaced: data grows by that much between two rebalancings.
const DefaultMisplaced = 1.0 / 8

// maxSplits is how many segments are split in one epoch.
const maxSplits = 1024

// Plan decides on the leader's proposal after view v. It returns the next view and, for the log,
// the reason. If there is none, it returns nil and a text: what it waits for, if anything.
//
// It takes one step at a time, in a fixed order. All members must have adopted v or have no lease
// any more before anything else. Then come the dead, the machines that came back, and the end of
// the phase. Planned changes must wait for idle, except joins.
func Plan(v *View, reports map[trie.MachineID]Report, wishes Wishes, o PlanOptions) (next *View, reason, wait string) {
	if o.Misplaced == 0 {
		o.Misplaced = DefaultMisplaced
	}
	p := &planner{View: v, reports: reports, wishes: wishes, options: o}
	for _, step := range []func(*planner){
		(*planner).gate, (*planner).overrule, (*planner).failures, (*planner).returns, (*planner).reconcile, (*planner).phase, (*planner).planned,
	} {
		if step(p); p.next != nil || p.halt {
			break
		}
	}
	return p.next, p.reason, strings.Join(p.waits, "; ")
}

// planner is one call of Plan.
type planner struct {
	*View
	options PlanOptions
	reports map[trie.MachineID]Report
	wishes  Wishes

	next   *View
	reason string
	waits  []string
	halt   bool // no later step
	// Who is to be excluded; nil before it was requested.
	slowest, stuckest, fullest, worst *trie.MachineID
}

// memoize returns what find returns, and calls it once: each queries all members, for each
// member.
func memoize(memo **trie.MachineID, find func() trie.MachineID) trie.MachineID {
	if *memo == nil {
		id := find()
		*memo = &id
	}
	return **memo
}

// propose ends the planning with a view. If the change failed, it records the error, and the
// steps go on.
func (p *planner) propose(next *View, err error, reason string, args ...any) {
	if err != nil {
		p.wait("not possible: %s: %s", fmt.Sprintf(reason, args...), err)
		return
	}
	next.Proposer = p.options.Self
	p.next, p.reason, p.waits = next, fmt.Sprintf(reason, args...), nil
}

// wait records what is waited for; later steps may have something to do meanwhile.
func (p *planner) wait(what string, args ...any) {
	p.waits = append(p.waits, fmt.Sprintf(what, args...))
}

// stop is wait, and the end of the planning.
func (p *planner) stop(what string, args ...any) {
	p.wait(what, args...)
	p.halt = true
}

func (p *planner) suspect(m *Member) bool { return m.ID != p.options.Self && p.reports[m.ID].Suspect }

// adopted reports whether a member, as it runs, has the newest view.
func (p *planner) adopted(m *Member) bool {
	r := p.reports[m.ID]
	return r.Incarnation == m.Incarnation && r.Epoch == p.Epoch
}

// missing returns, for a message, the members which are not there in the newest view or fail ok;
// "" if there are none.
func (p *planner) missing(ok func(Report) bool) string {
	var ids []trie.MachineID
	for i := range p.Members {
		if m := &p.Members[i]; p.suspect(m) || !p.adopted(m) || !ok(p.reports[m.ID]) {
			ids = append(ids, m.ID)
		}
	}
	return names(ids)
}

// names returns machines for a message, not all where there are many.
func names(ids []trie.MachineID) string {
	const most = 8
	var b strings.Builder
	for i, id := range ids {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(ids)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(id.String())
	}
	return b.String()
}

// gate: leases span two epochs at most, so the next one waits until nobody can
// hold a lease of the one before this.
func (p *planner) gate() {
	var ids, stuck []trie.MachineID
	for i := range p.Members {
		switch m := &p.Members[i]; {
		case p.adopted(m):
		case p.reports[m.ID].MayHoldLease:
			ids = append(ids, m.ID)
		case p.reports[m.ID].Stuck:
			stuck = append(stuck, m.ID)
		}
	}
	if len(stuck) > 0 {
		p.wait("epoch %d to be adopted by %s, for long", p.Epoch, names(stuck))
	}
	if len(ids) > 0 {
		p.stop("epoch %d to be adopted by %s, or their leases to end", p.Epoch, names(ids))
	}
}

// phase ends fill and serve where all members are so far.
func (p *planner) phase() {
	switch p.Phase {
	case recovery.Fill:
		missing := p.missing(func(r Report) bool { return r.Walked && r.Reconciled })
		if missing == "" && !p.waiting() {
			next, err := p.ToServe(p.marks())
			p.propose(next, err, "all backfills are done")
			return
		}
		if missing != "" {
			p.wait("the backfills of %s", missing)
		}
	case recovery.Serve:
		if missing := p.missing(func(Report) bool { return true }); missing != "" {
			p.stop("epoch %d to be adopted by %s", p.Epoch, missing)
			return
		}
		next, err := p.ToIdle()
		p.propose(next, err, "all members read the new owners")
		p.halt = true
	case recovery.Ingest:
		p.show()
	}
}

func (p *planner) waiting() bool {
	return slices.ContainsFunc(p.Members, func(m Member) bool { return m.Waits })
}
