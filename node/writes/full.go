package writes

import (
	"fmt"
	"maps"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
)

// This file is what sequencers know of the disks of holders. What is stamped has to
// be written, so they look before.

// SetRooms takes how much room the members have as the leader knows it: all that have
// not enough of it for everything. It replaces what was known.
func (w *Writes) SetRooms(rooms map[trie.MachineID]node.Room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rooms = maps.Clone(rooms)
}

// setRoom takes how much room a member has as it says itself.
func (w *Writes) setRoom(m trie.MachineID, r node.Room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r == node.RoomForAll:
		delete(w.rooms, m)
	case w.rooms == nil:
		w.rooms = map[trie.MachineID]node.Room{m: r}
	default:
		w.rooms[m] = r
	}
}

// lacksRoom returns a holder of a request that has no room for it, 0 where all have. One
// that could not take what is on its way has none for anything: it would wait in the
// same stream.
func (w *Writes) lacksRoom(r *request) (lacks trie.MachineID) {
	least := node.RoomForAll // that refuses
	for i := range r.operations {
		if o := &r.operations[i]; o.Kind == node.OperationAdd || o.Note != nil && !o.Note.Removed {
			least = node.RoomForDeletes
			break
		}
		least = node.RoomForNone
	}
	own := w.store.Room()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, set := range r.route.sets {
		for _, m := range set {
			room := w.rooms[m]
			if m == w.self {
				room = own
			}
			if s := w.era.streams[m]; s != nil && (s.full || room >= least) {
				return m
			}
		}
	}
	return 0
}

// errFull is the error of a client for a machine whose disk is full.
func errFull(v *view.View, id trie.MachineID) error {
	at := ""
	if m := v.Find(id); m != nil {
		at = " at " + m.Address
	}
	return fmt.Errorf("%w: that of machine %s%s has less free space than it keeps for what is on its way: make room on it, or let other machines join",
		node.ErrDiskFull, id, at)
}
