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

// ToIdle ends a change: what was target is all there is.
func (v *View) ToIdle() (*View, error) {
	if v.Phase != recovery.Serve {
		return nil, fmt.Errorf("view: from %s to idle", v.Phase)
	}
	n := v.next()
	n.targetIsBase()
	n.Phase = recovery.Idle
	return n.finish()
}

// AcceptLoss forgets which ranges are lost: what there is of them counts as all.
func (v *View) AcceptLoss() (*View, error) {
	if len(v.Lost) == 0 {
		return nil, errors.New("view: nothing is lost")
	}
	n := v.next()
	n.Lost = nil
	return n.finish()
}

// Readmit gives a member whose process started again, with its disk, its place
// back. It gets no lease until [View.Unwait].
func (v *View) Readmit(id trie.MachineID, incarnation uint64, address string, minor uint64) (*View, error) {
	n := v.next()
	m, err := n.member(id)
	if err != nil {
		return nil, err
	}
	if incarnation <= m.Incarnation {
		return nil, fmt.Errorf("view: machine %s comes back in incarnation %d, it had %d", id, incarnation, m.Incarnation)
	}
	if filled, ok := n.BaseIncarnations[id]; ok && filled == m.Incarnation {
		n.BaseIncarnations[id] = incarnation
	}
	m.Incarnation, m.Address, m.Minor, m.Waits = incarnation, address, minor, true
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
