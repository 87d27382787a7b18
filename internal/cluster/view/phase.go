// Changes of the phase, and of members that come back.

package view

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// ToServe ends a fill: target is full, and is read from now on. Marks are how many
// batches of fills machines are counted on to have; no member's goes down.
func (v *View) ToServe(marks map[trie.MachineID]uint64) (*View, error) {
	if v.Phase != recovery.Fill {
		return nil, fmt.Errorf("view: from %s to serve", v.Phase)
	}
	n := v.next()
	n.Phase = recovery.Serve
	n.countOn(marks)
	return n.finish()
}

// ToIdle ends a change: target becomes the only layout.
func (v *View) ToIdle() (*View, error) {
	if v.Phase != recovery.Serve {
		return nil, fmt.Errorf("view: from %s to idle", v.Phase)
	}
	n := v.next()
	n.targetIsBase()
	n.Phase = recovery.Idle
	return n.finish()
}

// AcceptLoss returns the next view without lost ranges: their remaining rows count as all.
func (v *View) AcceptLoss() (*View, error) {
	if len(v.Lost) == 0 {
		return nil, errors.New("view: nothing is lost")
	}
	n := v.next()
	n.Lost = nil
	return n.finish()
}

// Readmit gives a member whose process started again, with its disk, its place
// back. It gets no lease until [View.Unwait]. back replaces the member of the former
// process, with fields of a later minor; only the state and the mark stay.
func (v *View) Readmit(back Member) (*View, error) {
	n := v.next()
	m, err := n.member(back.ID)
	if err != nil {
		return nil, err
	}
	if back.Incarnation <= m.Incarnation {
		return nil, fmt.Errorf("view: machine %s comes back in incarnation %d, it had %d", back.ID, back.Incarnation, m.Incarnation)
	}
	if err := back.CheckUnknown(); err != nil {
		return nil, err
	}
	if filled, ok := n.BaseIncarnations[back.ID]; ok && filled == m.Incarnation {
		n.BaseIncarnations[back.ID] = back.Incarnation
	}
	back.State, back.Mark, back.Waits = m.State, m.Mark, true // decided by the cluster
	*m = back
	n.raiseMinor()
	return n.finish()
}

// Unwait lets members have leases again: the view is reconciled, and their disks
// show all that they should.
func (v *View) Unwait(ids ...trie.MachineID) (*View, error) {
	n := v.next()
	for _, id := range ids {
		m, err := n.member(id)
		if err != nil {
			return nil, err
		}
		m.Waits = false
	}
	return n.finish()
}
