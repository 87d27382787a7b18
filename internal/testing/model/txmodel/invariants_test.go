// The invariants.

package txmodel

import (
	"errors"
	"fmt"
)

// check returns the first broken invariant.
func (s *system) check() error {
	return errors.Join(s.checkReads(), s.checkOutcomes(), s.checkConflicts())
}

// checkReads checks the query that is running.
func (s *system) checkReads() error {
	r := &s.c.read
	if !r.on {
		return nil
	}
	if r.discarded {
		return errors.New("invariant 1: a read is repeatable")
	}
	for i := range s.triples {
		if !r.read.has(i) {
			continue
		}
		for x := range s.writes {
			t := &s.c.txns[x]
			if !s.writes[x].has(i) {
				continue
			}
			visible := t.truth() != (tick{}) && !t.aborted && !r.at.before(t.truth())
			if visible != r.seen[i].has(x) {
				return fmt.Errorf("invariant 2: a query reads all that was committed at its tick and nothing else: T%d on triple %d", x+1, i+1)
			}
			if r.floor.has(x) && !r.seen[i].has(x) {
				return fmt.Errorf("invariant 3: a query reads all that was acknowledged, or that a query returned, before it began: T%d on triple %d", x+1, i+1)
			}
		}
	}
	return nil
}

// checkOutcomes checks that transactions are atomic and durable.
func (s *system) checkOutcomes() error {
	for x := range s.writes {
		t := &s.c.txns[x]
		if (t.aborted || t.failed) && (t.committed() || t.exposed != (tick{})) {
			return fmt.Errorf("invariant 4: a transaction has one outcome: T%d", x+1)
		}
		if !t.acked && !t.read {
			continue
		}
		for i := range s.triples {
			kept := !s.writes[x].has(i)
			for m := range s.machines {
				kept = kept || s.c.views[s.c.last].members.has(m) && s.c.machines[m].has[i].has(x)
			}
			if !kept {
				return fmt.Errorf("invariant 5: what is acknowledged survives: T%d on triple %d", x+1, i+1)
			}
		}
	}
	return nil
}

// checkConflicts checks snapshot isolation: of two committed transactions on one triple, one has
// seen the other.
func (s *system) checkConflicts() error {
	for x := range s.writes {
		for y := range x {
			a, b := &s.c.txns[x], &s.c.txns[y]
			if s.writes[x]&s.writes[y] == 0 || a.aborted || b.aborted || a.truth() == (tick{}) || b.truth() == (tick{}) {
				continue
			}
			if a.snapshot.before(b.truth()) && b.snapshot.before(a.truth()) {
				return fmt.Errorf("invariant 6: the first committer wins: T%d and T%d", y+1, x+1)
			}
		}
	}
	return nil
}
