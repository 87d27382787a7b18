package view

import (
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/recovery"
)

// Validate returns an error where the view breaks one of its invariants: members
// ascend by ID, every segment of base and target has an owner, and base and
// target are one where the phase says so.
func (v *View) Validate() error {
	if v.Cluster == "" || v.Generation == 0 || v.Epoch == 0 {
		return errors.New("view: no cluster name, generation or epoch")
	}
	for i, m := range v.Members {
		if m.ID == 0 || m.Address == "" {
			return fmt.Errorf("view: member %d has no ID or address", i)
		}
		if i > 0 && v.Members[i-1].ID >= m.ID {
			return fmt.Errorf("view: member %s is out of order", m.ID)
		}
	}
	for _, l := range []recovery.Layout{v.Base, v.Target} {
		if l.Trie == nil || l.Placement == nil {
			return errors.New("view: a layout is missing")
		}
		if err := l.Placement.CheckTrie(l.Trie); err != nil {
			return fmt.Errorf("view: %w", err)
		}
	}
	if v.Base != v.Target && (v.Phase == recovery.Idle || v.Phase == recovery.Ingest) {
		return fmt.Errorf("view: two layouts in phase %s", v.Phase)
	}
	return nil
}
