package cluster

import (
	"maps"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// wishes are what machines and operators have asked the leader for and no view
// has yet. A leader that loses its office forgets them: joiners ask again, and
// operators see it in the status.
type wishes struct {
	mu     sync.Mutex
	join   map[trie.MachineID]view.Member
	leave  map[trie.MachineID]bool
	remove map[trie.MachineID]bool
	accept bool        // of what is lost
	loads  view.Wishes // only what loads wish
}

func (w *wishes) wantJoin(m view.Member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.join == nil {
		w.join = map[trie.MachineID]view.Member{}
	}
	w.join[m.ID] = m
}

func (w *wishes) joining(id trie.MachineID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.join[id]
	return ok
}

func (w *wishes) wantLeave(id trie.MachineID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leave == nil {
		w.leave = map[trie.MachineID]bool{}
	}
	w.leave[id] = true
}

func (w *wishes) wantAcceptLoss() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.accept = true
}

func (w *wishes) wantRemove(id trie.MachineID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.remove == nil {
		w.remove = map[trie.MachineID]bool{}
	}
	w.remove[id] = true
}

// open returns the wishes that v does not fulfil, and forgets the others.
func (w *wishes) open(v *view.View) view.Wishes {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.join, func(id trie.MachineID, _ view.Member) bool { return v.Find(id) != nil })
	gone := func(id trie.MachineID, _ bool) bool { return v.Find(id) == nil }
	maps.DeleteFunc(w.leave, func(id trie.MachineID, _ bool) bool {
		m := v.Find(id)
		return m == nil || m.State == view.Leaving
	})
	maps.DeleteFunc(w.remove, gone)
	var open view.Wishes
	for _, id := range slices.Sorted(maps.Keys(w.join)) {
		open.Join = append(open.Join, w.join[id])
	}
	open.Leave = slices.Sorted(maps.Keys(w.leave))
	w.accept = w.accept && len(v.Lost) > 0
	open.AcceptLoss = w.accept
	open.Remove = slices.Sorted(maps.Keys(w.remove))
	w.openLoads(v)
	open.Begin, open.Publish, open.Drop = w.loads.Begin, w.loads.Publish, w.loads.Drop
	open.Splits, open.Rebalance = w.loads.Splits, w.loads.Rebalance
	return open
}
