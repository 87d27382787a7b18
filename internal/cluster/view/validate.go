// Invariants of every view.

package view

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/recovery"
)

// Validate returns an error if the view breaks an invariant: members ascend by ID, every
// segment of base and target has an owner, the owners of target are members that are up, and
// base and target are the same in the phases idle and ingest.
func (v *View) Validate() error {
	if v.Cluster == "" || v.Generation == 0 || v.Epoch == 0 {
		return errors.New("view: no cluster name, generation or epoch")
	}
	if v.Lease < 0 {
		return fmt.Errorf("view: a lease of %s", v.Lease)
	}
	if v.Phase > recovery.Ingest {
		return fmt.Errorf("view: phase %d", v.Phase)
	}
	if err := errors.Join(v.validateMembers(), v.validateExcluded(), v.validateLoads()); err != nil {
		return err
	}
	if err := v.validateLayout(v.Base); err != nil {
		return fmt.Errorf("view: base: %w", err)
	}
	if v.Target != v.Base {
		if v.Phase == recovery.Idle || v.Phase == recovery.Ingest {
			return fmt.Errorf("view: two layouts in phase %s", v.Phase)
		}
		if err := v.validateLayout(v.Target); err != nil {
			return fmt.Errorf("view: target: %w", err)
		}
		if b, t := v.Base.Placement.Partitions(), v.Target.Placement.Partitions(); b != t {
			return fmt.Errorf("view: %d partitions in base, %d in target", b, t)
		}
	}
	// Machines of base may be down, but those of target must be up, because they are filled.
	for _, id := range v.Target.Placement.Machines() {
		if m := v.Find(id); m == nil || m.State != Up {
			return fmt.Errorf("view: machine %s is in target, and no member that is up", id)
		}
	}
	for id := range v.BaseIncarnations {
		if !v.Base.Placement.Machines().Contains(id) {
			return fmt.Errorf("view: machine %s has filled base, and is not in it", id)
		}
	}
	return nil
}

func (v *View) validateMembers() error {
	for i, m := range v.Members {
		if m.ID == 0 || m.Address == "" {
			return fmt.Errorf("view: member %d has no ID or address", i)
		}
		if i > 0 && v.Members[i-1].ID >= m.ID {
			return fmt.Errorf("view: member %s is out of order", m.ID)
		}
		if m.State != Up && m.State != Spare && m.State != Leaving {
			return fmt.Errorf("view: member %s is %q", m.ID, m.State)
		}
		if m.Minor < v.Minor {
			return fmt.Errorf("view: member %s has minor %d of the protocol, the view has %d", m.ID, m.Minor, v.Minor)
		}
	}
	return nil
}

func (v *View) validateLayout(l recovery.Layout) error {
	if l.Trie == nil || l.Placement == nil {
		return errors.New("it is missing")
	}
	if err := CheckCopies(l.Copies); err != nil {
		return err
	}
	if err := l.Placement.CheckTrie(l.Trie); err != nil {
		return err
	}
	for s := range l.Trie.All() {
		if s.ID >= v.NextSegment {
			return fmt.Errorf("segment %s, the next one would be %d", s, v.NextSegment)
		}
	}
	return nil
}
