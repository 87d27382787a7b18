package cluster

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// wishes are what machines and operators have asked the leader for and no view
// has yet. A leader that loses its office forgets them: joiners ask again, and
// operators see it in the status.
type wishes struct {
	mu     sync.Mutex
	join   map[trie.MachineID]joiner
	leave  map[trie.MachineID]bool
	remove map[trie.MachineID]bool
	accept bool        // of what is lost
	copies int         // of each triple; 0 leaves it
	loads  view.Wishes // only what loads wish
}

// joiner is a machine that wants to be a member, when it last said so, and how many bytes
// it had free then.
type joiner struct {
	member view.Member
	asked  time.Duration
	room   int64
}

const (
	// maxJoiners bounds the machines that wait to be members.
	maxJoiners = 64
	// joinerAge is how long one is waited with that does not ask any more: they ask
	// every joinRetry.
	joinerAge = 30 * time.Second
)

// wantJoin notes that a machine wants to be a member of v, or refuses.
func (w *wishes) wantJoin(v *view.View, m view.Member, room int64, now time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetJoiners(now)
	_, known := w.join[m.ID]
	switch {
	case len(v.Members) >= trie.MaxMachines:
		return refuse(peer.CodeUnavailable, v.Epoch, "the cluster has %d members, and room for no more", len(v.Members))
	case !known && len(w.join) >= maxJoiners:
		return refuse(peer.CodeBusy, v.Epoch, "%d machines wait to join already; ask again", len(w.join))
	}
	if w.join == nil {
		w.join = map[trie.MachineID]joiner{}
	}
	w.join[m.ID] = joiner{m, now, room}
	return nil
}

// forgetJoiners forgets who asks no more. The lock is held.
func (w *wishes) forgetJoiners(now time.Duration) {
	maps.DeleteFunc(w.join, func(_ trie.MachineID, j joiner) bool { return now-j.asked > joinerAge })
}

func (w *wishes) joining(id trie.MachineID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.join[id]
	return ok
}

// room returns how many bytes a machine has free that wants to join.
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

// open returns the wishes that v does not fulfil, and forgets the others.
func (w *wishes) open(v *view.View, now time.Duration) view.Wishes {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetJoiners(now)
	maps.DeleteFunc(w.join, func(id trie.MachineID, _ joiner) bool { return v.Find(id) != nil })
	gone := func(id trie.MachineID, _ bool) bool { return v.Find(id) == nil }
	maps.DeleteFunc(w.leave, func(id trie.MachineID, _ bool) bool {
		m := v.Find(id)
		return m == nil || m.State == view.Leaving
	})
	maps.DeleteFunc(w.remove, gone)
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
