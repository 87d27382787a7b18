package writes

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// maxHolders is on how many machines a triple can be: on three for the versions
// and extras and one for GSPO, under base and under target.
const maxHolders = 8

// holders are the machines of a triple's slots, ascending, then zeros.
type holders [maxHolders]trie.MachineID

// route is where operations go under a view.
type route struct {
	view *view.View
	sets []holders
	of   []uint32 // operation i goes to sets[of[i]]
	// foreign is the first operation that self is not the sequencer of, or -1.
	foreign int
	// full tells of each operation whether its SPO slot on self is full, so that a
	// triple that is not there is nowhere.
	full []bool
}

// newRoute finds where operations go. The error wraps triple.ErrCorrupt.
func newRoute(v *view.View, self trie.MachineID, operations []node.Operation) (*route, error) {
	t := &route{view: v, of: make([]uint32, len(operations)), full: make([]bool, len(operations)), foreign: -1}
	j := v.Joint()
	r := j.Resolver()
	index := map[holders]uint32{}
	for i := range operations {
		if err := r.Resolve(operations[i].Key); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		if m, ok := r.Sequencer(); (!ok || m != self) && t.foreign < 0 {
			t.foreign = i
		}
		t.full[i] = full(j, r, self)
		set := holdersOf(r.Writes())
		at, ok := index[set]
		if !ok {
			at = uint32(len(t.sets))
			index[set] = at
			t.sets = append(t.sets, set)
		}
		t.of[i] = at
	}
	return t, nil
}

// full reports whether the SPO slot of the triple on self is full, and what it
// holds can be seen by readers.
func full(j *recovery.Joint, r *recovery.Resolver, self trie.MachineID) bool {
	switch j.Phase {
	case recovery.Ingest:
		return false // rows of the load may be there, that nobody sees yet
	case recovery.Serve:
		return r.Target()[0].Machine == self
	}
	return r.Base()[0].Machine == self && j.BaseLive.Contains(self)
}

func holdersOf(slots []recovery.Slot) (h holders) {
	n := 0
	for _, s := range slots {
		if !slices.Contains(h[:n], s.Machine) {
			h[n] = s.Machine
			n++
		}
	}
	slices.Sort(h[:n])
	return h
}

// split returns what each machine gets of operations, of which i goes to
// sets[of[i]]. What gets all shares memory with them.
func split(operations []node.Operation, sets []holders, of []uint32) map[trie.MachineID][]node.Operation {
	counts := make([]int, len(sets))
	for _, at := range of {
		counts[at]++
	}
	total := map[trie.MachineID]int{}
	for at, n := range counts {
		for _, m := range sets[at] {
			if m != 0 && n > 0 {
				total[m] += n
			}
		}
	}
	parts := make(map[trie.MachineID][]node.Operation, len(total))
	for m, n := range total {
		if n == len(operations) {
			parts[m] = operations
		} else {
			parts[m] = make([]node.Operation, 0, n)
		}
	}
	for i, at := range of {
		for _, m := range sets[at] {
			if m != 0 && total[m] < len(operations) {
				parts[m] = append(parts[m], operations[i])
			}
		}
	}
	return parts
}
