// Checks of the simulated cluster.

package view

import (
	"encoding/json"
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// checkStep asserts what one view has to do with the one before.
func (s *sim) checkStep(next *View, reports map[trie.MachineID]Report) {
	old := s.v
	if next.Epoch != old.Epoch+1 {
		s.fail("epoch %d after %d", next.Epoch, old.Epoch)
	}
	for _, m := range old.Members {
		if r := reports[m.ID]; r.MayHoldLease && !(r.Incarnation == m.Incarnation && r.Epoch == old.Epoch) {
			s.fail("proposed while %s may hold a lease of an epoch before %d", m.ID, old.Epoch)
		}
		if next.Find(m.ID) == nil && reports[m.ID].MayHoldLease && old.holds(m.ID) {
			s.fail("%s is excluded with a lease", m.ID)
		}
	}
	was, is := old.Joint().Resolver(), next.Joint().Resolver()
	for _, key := range s.keys {
		if was.Resolve(key) != nil || is.Resolve(key) != nil {
			s.fail("a key that does not resolve")
		}
		for _, o := range triple.Orders {
			k := was.Key(o)
			if k == nil {
				continue
			}
			m, ok := old.Joint().Reader(k)
			if !ok || next.Find(m) == nil || next.Find(m).Incarnation != old.Find(m).Incarnation {
				continue
			}
			if !slices.Contains(is.Writes(), recovery.Place{Machine: m, Order: o}) {
				s.fail("invariant 5: %s answers for %s in epoch %d and is not written in %d", m, o, old.Epoch, next.Epoch)
			}
		}
	}
}

// checkView asserts the rules of every view, and that answering machines have the rows they
// answer for.
func (s *sim) checkView() {
	v := s.v
	if err := v.Validate(); err != nil {
		s.fail("%s", err)
	}
	if v.Phase == recovery.Idle && v.Base != v.Target {
		s.fail("idle, and target is not base")
	}
	r := v.Joint().Resolver()
	for i, key := range s.keys {
		if err := r.Resolve(key); err != nil {
			s.t.Fatal(err)
		}
		lost := s.lost(r)
		for _, slot := range r.Target() {
			live := slices.Contains(r.Base(), slot) && v.Joint().BaseLive.Contains(slot.Machine)
			if _, ok := r.Repairer(); v.Phase == recovery.Fill && !live && !ok && !lost {
				s.fail("invariant 12: nobody fills %v of sample %d", slot, i)
			}
		}
		holders := map[trie.MachineID]bool{}
		for _, slot := range r.Base() {
			if slot.Order != triple.GSPO {
				holders[slot.Machine] = true
			}
		}
		up, copies := len(v.Target.Placement.Machines()), v.Target.Copies
		if n := len(holders); v.Phase == recovery.Idle && (n < min(copies, up) || n > min(max(3, copies), up)) {
			s.fail("invariant 3: sample %d on %d of %d machines, of %d copies", i, n, up, copies)
		}
		for _, o := range triple.Orders {
			if k := r.Key(o); k != nil && !lost {
				m, ok := v.Joint().Reader(k)
				if n := s.nodes[m]; ok && n.inc == v.Find(m).Incarnation && !n.rows[i][recovery.Place{Machine: m, Order: o}] && n.shows {
					s.fail("invariant 8: %s is read and has not %s of sample %d", m, o, i)
				}
			}
		}
	}
	s.checkCodec()
}

// lost reports whether all versions of the resolved triple are in ranges of Lost.
func (s *sim) lost(r *recovery.Resolver) bool {
	for _, o := range triple.Orders {
		if k := r.Key(o); k != nil && !isLost(s.v.Lost, k, append(slices.Clone(k), 0)) {
			return false
		}
	}
	return true
}

func (s *sim) checkCodec() {
	b, err := json.Marshal(s.v)
	if err != nil {
		s.fail("%s", err)
	}
	var back View
	if err := json.Unmarshal(b, &back); err != nil {
		s.fail("%s", err)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(b) {
		s.fail("a view changes in JSON:\n%s\n%s", b, again)
	}
	if (back.Base == back.Target) != (s.v.Base == s.v.Target) || (back.Base.Trie == back.Target.Trie) != (s.v.Base.Trie == s.v.Target.Trie) {
		s.fail("what base and target share is lost in JSON")
	}
}
