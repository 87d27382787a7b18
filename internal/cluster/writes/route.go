// Routes: the machines of an operation under a view.

package writes

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// maxHolders is the greatest number of machines with a place of one triple: those of its copies
// and the owner of GSPO, under base and under target.
const maxHolders = 2 * (recovery.MaxCopies + 1)

// holders are the machines with a place of a triple, ascending, then zeros.
type holders [maxHolders]trie.MachineID

// route is the holders of operations under a view.
type route struct {
	view *view.View
	sets []holders
	of   []uint32 // operation i goes to sets[of[i]]
	// foreign is the first operation with another sequencer than self, or -1.
	foreign int
	// confirms are the machines that self asks before it stamps, see [recovery.Resolver.Confirms].
	confirms map[trie.MachineID]bool
	// full is true for each operation if its SPO place on self is full. If a triple is not in a
	// full place, it does not exist.
	full []bool
}

// newRoute returns the route of operations under v. The error wraps triple.ErrCorrupt.
func newRoute(v *view.View, self trie.MachineID, operations []replica.Operation) (*route, error) {
	t := &route{view: v, of: make([]uint32, len(operations)), full: make([]bool, len(operations)), foreign: -1}
	j := v.Joint()
	r := j.Resolver()
	index := map[holders]uint32{}
	// Operations often have equal sets of holders, so each set is stored once.
	for i := range operations {
		if err := r.Resolve(operations[i].Key); err != nil {
			return nil, fmt.Errorf("operation %d: %w", i, err)
		}
		switch m, ok := r.Sequencer(); {
		case ok && m == self:
			if m, needed := r.Confirms(); needed {
				t.confirm(m)
			}
		case t.foreign < 0:
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

// confirm adds a machine to confirms, or all members if it is 0.
func (t *route) confirm(m trie.MachineID) {
	if t.confirms == nil {
		t.confirms = map[trie.MachineID]bool{}
	}
	if m != 0 {
		t.confirms[m] = true
		return
	}
	for i := range t.view.Members {
		t.confirms[t.view.Members[i].ID] = true
	}
}

// full reports whether the SPO place of the triple on self is full and readers may see its rows.
func full(j *recovery.Joint, r *recovery.Resolver, self trie.MachineID) bool {
	switch j.Phase {
	case recovery.Ingest:
		return false // the place may have rows of the load, and reads do not show these yet
	case recovery.Serve:
		return r.Target()[0].Machine == self
	}
	return r.Base()[0].Machine == self && j.BaseLive.Contains(self)
}

// holdersOf returns the distinct machines of places.
func holdersOf(slots []recovery.Place) (h holders) {
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

// split returns the operations of each machine; operation i goes to sets[of[i]]. A record follows its operations, and
// goes to all their machines. If a machine gets all operations, its slice shares their memory.
func split(operations []replica.Operation, sets []holders, of []uint32) map[trie.MachineID][]replica.Operation {
	// 1. Count the operations of each machine.
	records := recordHolders(operations, sets, of)
	counts := make([]int, len(sets))
	total := map[trie.MachineID]int{}
	for i, at := range of {
		if records[i] == nil {
			counts[at]++
		}
	}
	for at, n := range counts {
		for _, m := range sets[at] {
			if m != 0 && n > 0 {
				total[m] += n
			}
		}
	}
	for _, ms := range records {
		for m := range ms {
			total[m]++
		}
	}
	// 2. Copy them for each machine if it does not get all.
	parts := make(map[trie.MachineID][]replica.Operation, len(total))
	for m, n := range total {
		if n == len(operations) {
			parts[m] = operations
		} else {
			parts[m] = make([]replica.Operation, 0, n)
		}
	}
	give := func(m trie.MachineID, o replica.Operation) {
		if m != 0 && total[m] < len(operations) {
			parts[m] = append(parts[m], o)
		}
	}
	for i, at := range of {
		for m := range records[i] {
			give(m, operations[i])
		}
		if records[i] == nil {
			for _, m := range sets[at] {
				give(m, operations[i])
			}
		}
	}
	return parts
}

// recordHolders returns the machines of each record, by its index: those of the operations between the record before
// and this one, and those of its own key.
func recordHolders(operations []replica.Operation, sets []holders, of []uint32) map[int]map[trie.MachineID]struct{} {
	var records map[int]map[trie.MachineID]struct{}
	first := 0
	for i := range operations {
		if !isRecord(operations[i]) {
			continue
		}
		ms := map[trie.MachineID]struct{}{}
		for _, at := range of[first : i+1] {
			for _, m := range sets[at] {
				if m != 0 {
					ms[m] = struct{}{}
				}
			}
		}
		if records == nil {
			records = map[int]map[trie.MachineID]struct{}{}
		}
		records[i], first = ms, i+1
	}
	return records
}
