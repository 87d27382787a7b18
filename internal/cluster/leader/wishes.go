// Wishes at the leader.

package leader

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
)

// wishes are requests of machines and operators no view has fulfilled yet. If a leader loses its
// office, it forgets them. Then joiners must ask again, and operators see it in the status.
type wishes struct {
	mu     sync.Mutex
	join   map[trie.MachineID]joiner
	leave  map[trie.MachineID]bool
	remove map[trie.MachineID]bool
	accept bool        // of the loss
	copies int         // of each triple; 0 leaves it
	loads  view.Wishes // only wishes of loads
}

// joiner is a machine waiting to become a member, when it last asked, and its free bytes then.
type joiner struct {
	member    view.Member
	requested time.Duration
	room      int64
}

const (
	// maxJoiners bounds the machines waiting to join.
	maxJoiners = 64
	// joinerAge is how long a joiner is kept if it does not ask any more: joiners ask every
	// joinRetry.
	joinerAge = 30 * time.Second
)

// wantJoin records the wish of a machine to be a member of v, or rejects it.
func (w *wishes) wantJoin(v *view.View, m view.Member, room int64, now time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetJoiners(now)
	_, known := w.join[m.ID]
	switch {
	case len(v.Members) >= trie.MaxMachines:
		return peer.Refuse(peer.CodeUnavailable, v.Epoch, "the cluster has %d members, and room for no more", len(v.Members))
	case !known && len(w.join) >= maxJoiners:
		return peer.Refuse(peer.CodeBusy, v.Epoch, "%d machines wait to join already; ask again", len(w.join))
	}
	if w.join == nil {
		w.join = map[trie.MachineID]joiner{}
	}
	w.join[m.ID] = joiner{m, now, room}
	return nil
}

// forgetJoiners drops joiners if they ask no more. The lock must be held.
func (w *wishes) forgetJoiners(now time.Duration) {
	maps.DeleteFunc(w.join, func(_ trie.MachineID, j joiner) bool { return now-j.requested > joinerAge })
}

func (w *wishes) joining(id trie.MachineID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.join[id]
	return ok
}

// room returns the free bytes of a joining machine.
func (w *wishes) room(id trie.MachineID) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.join[id].room
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

func (w *wishes) wantCopies(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.copies = n
}

func (w *wishes) wantRemove(id trie.MachineID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.remove == nil {
		w.remove = map[trie.MachineID]bool{}
	}
	w.remove[id] = true
}

// open returns the wishes v does not fulfil, and removes the others.
func (w *wishes) open(v *view.View, now time.Duration) view.Wishes {
	w.mu.Lock()
	defer w.mu.Unlock()
	// 1. Remove a wish if v fulfils it or makes it impossible.
	w.forgetJoiners(now)
	maps.DeleteFunc(w.join, func(id trie.MachineID, _ joiner) bool { return v.Find(id) != nil })
	gone := func(id trie.MachineID, _ bool) bool { return v.Find(id) == nil && !v.IsExcluded(id) }
	maps.DeleteFunc(w.leave, func(id trie.MachineID, _ bool) bool {
		m := v.Find(id)
		return m == nil || m.State == view.Leaving
	})
	maps.DeleteFunc(w.remove, gone)
	// 2. List the rest in a fixed order, because equal wishes must give equal plans.
	var open view.Wishes
	for _, id := range slices.Sorted(maps.Keys(w.join)) {
		open.Join = append(open.Join, w.join[id].member)
	}
	open.Leave = slices.Sorted(maps.Keys(w.leave))
	w.accept = w.accept && len(v.Lost) > 0
	open.AcceptLoss = w.accept
	if w.copies == v.Target.Copies {
		w.copies = 0
	}
	open.Copies = w.copies
	open.Remove = slices.Sorted(maps.Keys(w.remove))
	w.openLoads(v)
	open.Begin, open.Publish, open.Drop = w.loads.Begin, w.loads.Publish, w.loads.Drop
	open.Splits, open.Rebalance = w.loads.Splits, w.loads.Rebalance
	return open
}
