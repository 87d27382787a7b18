// Excluded machines that are expected back.

package view

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/trie"
)

// Excluded is a machine that was excluded because it failed. The view lists it until it joins
// again, another machine joins at its address, or an operator dismisses it, because otherwise
// nobody would see that the cluster runs without it.
type Excluded struct {
	ID      trie.MachineID `json:"id"`
	Address string         `json:"address"`
	Epoch   uint64         `json:"epoch"` // the first one without it
	Why     string         `json:"why"`   // a relative clause, such as "which is not heard of"
}

// maxExcluded bounds the excluded machines in a view. The oldest ones are dropped.
const maxExcluded = 256

// expect adds members that are being excluded to the excluded machines. why has a reason for each.
func (v *View) expect(out []Member, why map[trie.MachineID]string) {
	v.Excluded = slices.Clip(v.Excluded)
	for _, m := range out {
		if reason, ok := why[m.ID]; ok {
			v.Excluded = append(v.Excluded, Excluded{ID: m.ID, Address: m.Address, Epoch: v.Epoch, Why: reason})
		}
	}
	v.Excluded = v.Excluded[max(0, len(v.Excluded)-maxExcluded):]
}

// forgetReturned drops excluded machines that are members again. An address counts as the
// machine, because a machine whose disk was replaced has another ID.
func (v *View) forgetReturned() {
	back := func(e Excluded) bool {
		return slices.ContainsFunc(v.Members, func(m Member) bool { return m.ID == e.ID || m.Address == e.Address })
	}
	if slices.ContainsFunc(v.Excluded, back) {
		v.Excluded = slices.DeleteFunc(slices.Clone(v.Excluded), back)
	}
}

// IsExcluded reports whether a machine was excluded and is expected back.
func (v *View) IsExcluded(id trie.MachineID) bool {
	return slices.ContainsFunc(v.Excluded, func(e Excluded) bool { return e.ID == id })
}

// Dismiss drops excluded machines that will not come back.
func (v *View) Dismiss(ids ...trie.MachineID) (*View, error) {
	n := v.next()
	n.Excluded = slices.DeleteFunc(slices.Clone(v.Excluded), func(e Excluded) bool { return slices.Contains(ids, e.ID) })
	if len(n.Excluded) == len(v.Excluded) {
		return nil, errors.New("view: none of these machines is excluded")
	}
	return n.finish()
}

// validateExcluded returns an error for an excluded machine without an ID or address, or for too many.
func (v *View) validateExcluded() error {
	if len(v.Excluded) > maxExcluded {
		return fmt.Errorf("view: %d excluded machines: %d are allowed", len(v.Excluded), maxExcluded)
	}
	for _, e := range v.Excluded {
		if e.ID == 0 || e.Address == "" {
			return errors.New("view: an excluded machine has no ID or address")
		}
	}
	return nil
}
