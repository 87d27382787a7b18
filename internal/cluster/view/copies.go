// The number of copies: a choice of the operator, and a target like any other.

package view

import (
	"fmt"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// CheckCopies returns an error if a cluster cannot keep n copies of each triple.
func CheckCopies(n int) error {
	if n < recovery.MinCopies || n > recovery.MaxCopies {
		return fmt.Errorf("%d copies of each triple: it is %d to %d", n, recovery.MinCopies, recovery.MaxCopies)
	}
	return nil
}

// SetCopies changes the number of copies of each triple. The new target has the same owners:
// members add missing extra replicas in fill, and delete superfluous ones in idle.
func (v *View) SetCopies(n int) (*View, error) {
	if v.Phase == recovery.Ingest {
		return nil, errIngest
	}
	if err := CheckCopies(n); err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	if v.Target.Copies == n {
		return nil, fmt.Errorf("view: each triple has %d copies already", n)
	}
	next := v.next()
	next.startFill()
	next.Target.Copies = n
	return next.finish()
}

// SpareFailures returns how many more machines may fail at once without the loss of data. It
// is 0 if a range may be lost already.
func (v *View) SpareFailures() int {
	if len(v.Lost) > 0 {
		return 0
	}
	return max(0, v.Base.Required()-1-v.deadOfBase())
}

// deadOfBase returns how many machines of base have lost what they held of it.
func (v *View) deadOfBase() int {
	live, dead := v.baseLive(), 0
	for _, id := range v.Base.Placement.Machines() {
		if !live.Contains(id) {
			dead++
		}
	}
	return dead
}

// NoRoomForCopies returns the members without room for n copies, by their reports. It returns
// none if n is not more than now. Each member needs about a third of its present bytes for each
// further copy, because a further copy is one row of the three or more of a triple.
func NoRoomForCopies(v *View, reports map[trie.MachineID]Report, n int) (short []trie.MachineID) {
	more := int64(n - v.Target.Copies)
	if more <= 0 || len(v.Target.Placement.Machines()) <= v.Target.Copies {
		return nil // a joiner's room is checked when it joins
	}
	for _, m := range v.Members {
		if r := reports[m.ID]; m.State == Up && r.Room < more*r.Bytes/3 {
			short = append(short, m.ID)
		}
	}
	return short
}

// copies changes the number of copies if the operator requests it.
func (p *planner) copies() {
	n := p.wishes.Copies
	if n == 0 || n == p.Target.Copies {
		return
	}
	if short := NoRoomForCopies(p.View, p.reports, n); len(short) > 0 {
		p.wait("room for %d copies of each triple on the disks of %s", n, names(short))
		return
	}
	next, err := p.SetCopies(n)
	p.propose(next, err, "each triple gets %d copies, before %d", n, p.Target.Copies)
}
