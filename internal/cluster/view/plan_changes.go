// Planned changes: members that join and leave, splits, moves.

package view

import (
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// planned begins what need not be: joins in fill and idle, the rest in idle only,
// when nothing is left of the change before.
func (p *planner) planned() {
	for i := range p.Members {
		if m := &p.Members[i]; p.failure(m) != "" || m.Waits {
			return // the reason is in the plan already
		}
	}
	if p.Phase == recovery.Fill {
		p.joins()
		return
	}
	if missing := p.missing(func(r Report) bool { return r.Swept }); missing != "" {
		p.stop("the sweeps of %s", missing)
		return
	}
	for _, step := range []func(*planner){
		(*planner).acceptLoss, (*planner).publish, (*planner).dropLoads, (*planner).beginLoads, (*planner).dismissals, (*planner).removals, (*planner).leaves, (*planner).joins, (*planner).copies, (*planner).splits, (*planner).rebalance, (*planner).merges, (*planner).followLeader,
	} {
		if step(p); p.next != nil {
			return
		}
	}
}

func (p *planner) acceptLoss() {
	if p.wishes.AcceptLoss && len(p.Lost) > 0 {
		next, err := p.AcceptLoss()
		p.propose(next, err, "the loss of %d ranges is accepted", len(p.Lost))
	}
}

// dismissals drops excluded machines that the operator gave up.
func (p *planner) dismissals() {
	var ids []trie.MachineID
	for _, e := range p.Excluded {
		if slices.Contains(p.wishes.Remove, e.ID) {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) > 0 {
		next, err := p.Dismiss(ids...)
		p.propose(next, err, "dismissed: %s", names(ids))
	}
}

// removals removes members if they have left, or if they never held rows and must go.
func (p *planner) removals() {
	var out []trie.MachineID
	for _, m := range p.Members {
		wish := slices.Contains(p.wishes.Leave, m.ID) || slices.Contains(p.wishes.Remove, m.ID)
		if !p.holds(m.ID) && (m.State == Leaving || wish) {
			out = append(out, m.ID)
		}
	}
	if len(out) > 0 {
		next, err := p.Remove(out...)
		p.propose(next, err, "removed: %s", names(out))
	}
}

func (p *planner) leaves() {
	var out []trie.MachineID
	for _, m := range p.Members {
		if m.State == Up && slices.Contains(p.wishes.Leave, m.ID) {
			out = append(out, m.ID)
		}
	}
	if len(out) > 0 {
		next, err := p.Leave(out...)
		p.propose(next, err, "leaving: %s", names(out))
	}
}

// joins lets machines in. In fill, spares wait: they would begin the walks anew for
// nothing.
func (p *planner) joins() {
	var in []Member
	var ids []trie.MachineID
	grows := false
	for _, m := range p.wishes.Join {
		if m.ID == 0 || m.Address == "" || m.Minor < p.Minor || p.Find(m.ID) != nil || slices.Contains(ids, m.ID) {
			continue
		}
		if len(p.Members)+len(in) == trie.MaxMachines {
			p.wait("others to leave, before more than %d machines can be members", trie.MaxMachines)
			break
		}
		in, ids = append(in, m), append(ids, m.ID)
		grows = grows || m.State != Spare
	}
	if len(in) > 0 && (grows || p.Phase == recovery.Idle) {
		next, err := p.Join(in...)
		p.propose(next, err, "joining: %s", names(ids))
	}
}

func (p *planner) splits() {
	splits := slices.Clone(p.wishes.Splits)
	for _, m := range p.Members {
		splits = append(splits, p.reports[m.ID].Splits...)
	}
	if splits = p.splittable(splits, maxSplits); len(splits) > 0 {
		next, err := p.Split(splits)
		p.propose(next, err, "%d segments are split", len(splits))
	}
}

// Members count as balanced where none holds more than so much of the mean, and
// the mean is no less than so many bytes: below that tables tell little.
const (
	balancedSpread = 1.3
	balancedBytes  = 16 << 20
)

// balanced reports whether the members hold about the same. Then misplaced segments do no harm,
// and moving them would be for nothing.
func (p *planner) balanced() bool {
	total, most, up := int64(0), int64(0), int64(0)
	for _, m := range p.Members {
		if m.State == Up {
			up++
			total += p.reports[m.ID].Bytes
			most = max(most, p.reports[m.ID].Bytes)
		}
	}
	return total >= up*balancedBytes && float64(most)*float64(up) <= balancedSpread*float64(total)
}

func (p *planner) rebalance() {
	share := p.Misplaced()
	if share == 0 || !p.wishes.Rebalance && (share < p.options.Misplaced || p.staging() || p.balanced()) {
		return // the tables of a load would have to be made anew
	}
	next, err := p.Rebalance()
	p.propose(next, err, "%.0f%% of the segments move to where they belong", 100*share)
}

// followLeader makes a new leader the oracle.
func (p *planner) followLeader() {
	if p.Find(p.options.Self) != nil && p.Oracle() != p.options.Self {
		next, err := p.View.next().finish()
		p.propose(next, err, "the oracle follows the leader")
	}
}
