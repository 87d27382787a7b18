// Views without members that failed.

package view

import (
	"bytes"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/trie"
)

// Exclude removes members at once: their rows do not count any more. Spares take the places of
// excluded members that were up, and nothing else moves. If there are too few spares, the
// others share the places. If nobody else is left, a leaving member stays. A load in phase
// ingest shows from then on: all others must have ingested it.
func (v *View) Exclude(ids ...trie.MachineID) (*View, error) {
	return v.exclude(ids, nil, nil)
}

// exclude is Exclude that also relies on marks, and expects the machines of why to come back.
func (v *View) exclude(ids []trie.MachineID, why map[trie.MachineID]string, marks map[trie.MachineID]uint64) (*View, error) {
	n, held := v.next(), false
	// 1. Find the members of target which live, and whether base loses rows.
	var out, dead []Member // all, and those of the target
	for _, id := range ids {
		m, err := n.member(id)
		if err != nil {
			return nil, err
		}
		out = append(out, *m)
		held = held || v.holds(id)
		if v.Target.Placement.Machines().Contains(id) {
			dead = append(dead, *m)
		}
	}
	if len(ids) >= len(v.Members) {
		return nil, errors.New("view: the last member cannot be excluded")
	}
	if held {
		n.startFill()
	}
	// 2. Remove them, give their places to others, and mark ranges without a copy as lost.
	for _, id := range ids {
		n.drop(id)
		delete(n.BaseIncarnations, id)
	}
	if err := n.replace(dead); err != nil {
		return nil, err
	}
	n.addLost()
	n.countOn(marks)
	n.expect(out, why)
	return n.finish()
}

// replace makes a target without the dead members.
func (v *View) replace(dead []Member) error {
	if len(dead) == 0 {
		return nil
	}
	// 1. Let spares take their places, one each.
	by := map[trie.MachineID]trie.MachineID{}
	for i := range v.Members {
		m := &v.Members[i]
		if m.State != Spare || len(dead) == 0 {
			continue
		}
		m.State = Up
		by[dead[0].ID] = m.ID
		dead = dead[1:]
	}
	var err error
	if len(dead) == 0 {
		v.Target.Placement, err = v.Target.Placement.Replace(by)
		return err
	}
	// 2. There are too few spares: place everything anew. If nobody is up, leaving members
	// must stay.
	if !v.hasUp() {
		for i := range v.Members {
			m := &v.Members[i]
			m.State = Up
		}
	}
	v.Target.Placement, err = v.placement()
	return err
}

// addLost adds to Lost the ranges with possibly lost rows. Every triple is on at least Required
// machines of base, so some may have no holder left only if as many are dead. Each row of such a
// triple is in a segment with a dead owner.
func (v *View) addLost() {
	if v.deadOfBase() < v.Base.Required() {
		return
	}
	v.cutFeed("all holders of some triples were lost at once")
	known, live := v.Lost, v.baseLive()
	last := -1 // the range that the segment before has become a part of
	for s := range v.Base.Trie.All() {
		switch {
		case live.Contains(v.Base.Placement.Owner(s)) || isLost(known, s.Lo, s.Hi):
			last = -1
		case last < 0:
			last = len(v.Lost)
			v.Lost = append(v.Lost, Lost{Lo: s.Lo, Hi: s.Hi, Epoch: v.Epoch})
		default:
			v.Lost[last].Hi = s.Hi
		}
	}
}

// baseLive returns the members which still have their rows of base.
func (v *View) baseLive() (live trie.Ring) {
	for _, m := range v.Members {
		if filled, ok := v.BaseIncarnations[m.ID]; ok && filled == m.Incarnation {
			live = append(live, m.ID)
		}
	}
	return live
}

// isLost reports whether one lost range has all of a range of keys.
func isLost(lost []Lost, lo, hi []byte) bool {
	return slices.ContainsFunc(lost, func(l Lost) bool {
		return bytes.Compare(l.Lo, lo) <= 0 && (l.Hi == nil || hi != nil && bytes.Compare(hi, l.Hi) <= 0)
	})
}
