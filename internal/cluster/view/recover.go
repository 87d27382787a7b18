// Recovery: the first view of a generation that an operator begins after a lost majority.

package view

import (
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/trie"
)

// generationGap is the distance of a new generation's epochs from all known ones. If machines
// went on in the old generation, their stamps are still below.
const generationGap = 1 << 32

// Parent names the view that a generation began from.
type Parent struct {
	Generation uint64 `json:"generation"`
	Epoch      uint64 `json:"epoch"`
	Term       uint64 `json:"term"` // of Raft, in which it was proposed
	Digest     uint64 `json:"digest"`
	// Newest is the greatest epoch of that generation that a kept machine has adopted,
	// as far as all ranges are marked as lost for it; Epoch at first.
	Newest uint64 `json:"newest"`
}

// Recovery describes the begin of a new generation.
type Recovery struct {
	// Keep are the machines whose data counts; all others are given up.
	Keep []trie.MachineID
	// Name is random. It is appended to the lineage.
	Name string
	// Term is the one of Raft in which the view was proposed, After the greatest epoch
	// that any kept machine has.
	Term, After uint64
	// Lost: machines that are given up may have agreed on later views and acknowledged
	// writes in them. Then any range may lack rows.
	Lost bool
}

// Recover returns the first view of the next generation: without the members that are
// not kept, as after [View.Exclude].
func (v *View) Recover(r Recovery) (*View, error) {
	var out []trie.MachineID
	for _, m := range v.Members {
		if !slices.Contains(r.Keep, m.ID) {
			out = append(out, m.ID)
		}
	}
	for _, id := range r.Keep {
		if v.Find(id) == nil {
			return nil, fmt.Errorf("view: machine %s is not a member", id)
		}
	}
	n, err := v.Exclude(out...)
	if err != nil {
		return nil, err
	}
	n.Generation++
	n.Epoch = max(n.Epoch, r.After+1) + generationGap
	n.Lineage = v.Lineage + lineageSeparator + r.Name
	n.Parent = &Parent{Generation: v.Generation, Epoch: v.Epoch, Term: r.Term, Digest: v.Digest(), Newest: v.Epoch}
	n.History = nil
	n.cutFeed("an operator has recovered the cluster from a lost majority")
	if r.Lost {
		n.loseAll()
	}
	return n.finish()
}

// Overrule marks all ranges as lost, because a kept machine had adopted a later epoch of the
// parent generation than the origin of this one.
func (v *View) Overrule(epoch uint64) (*View, error) {
	if v.Parent == nil || epoch <= v.Parent.Newest {
		return nil, errors.New("view: no machine has overruled views")
	}
	n := v.next()
	n.Parent = new(Parent)
	*n.Parent = *v.Parent
	n.Parent.Newest = epoch
	n.cutFeed("the cluster was recovered from a lost majority without its latest changes")
	n.loseAll()
	return n.finish()
}

// loseAll marks all ranges as lost.
func (v *View) loseAll() {
	v.Lost = nil
	for s := range v.Base.Trie.All() {
		if last := len(v.Lost) - 1; last >= 0 && sameOrder(v.Lost[last].Lo, s.Lo) {
			v.Lost[last].Hi = s.Hi
		} else {
			v.Lost = append(v.Lost, Lost{Lo: s.Lo, Hi: s.Hi, Epoch: v.Epoch})
		}
	}
}

// sameOrder reports whether two keys begin with the same byte, which names their order.
func sameOrder(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && a[0] == b[0] }
