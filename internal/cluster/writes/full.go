// Full disks: a sequencer refuses operations if a holder has no room.

package writes

import (
	"fmt"
	"maps"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// SetRooms replaces the known room of the members by the leader's. If a member is not in rooms,
// it has room for everything.
func (w *Writes) SetRooms(rooms map[trie.MachineID]store.Room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rooms = maps.Clone(rooms)
}

// setRoom records the room of a member, from its own answer.
func (w *Writes) setRoom(m trie.MachineID, r store.Room) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case r == store.RoomForAll:
		delete(w.rooms, m)
	case w.rooms == nil:
		w.rooms = map[trie.MachineID]store.Room{m: r}
	default:
		w.rooms[m] = r
	}
}

// lacksRoom returns a holder without room for a request, 0 if all have room. If a holder could
// not take the operations in flight, it has no room for anything, because more would wait in
// the same stream.
func (w *Writes) lacksRoom(r *request) (lacks trie.MachineID) {
	// 1. The least state of a disk with a reason to refuse the request: one for adds, a fuller
	// one for deletes.
	least := store.RoomForAll
	for i := range r.operations {
		if o := &r.operations[i]; o.Kind == store.OperationAdd || o.Note != nil && !o.Note.Removed {
			least = store.RoomForDeletes
			break
		}
		least = store.RoomForNone
	}
	// 2. The first holder in this state. This machine asks its own store, because it is newer.
	own := w.store.Room()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, set := range r.route.sets {
		for _, m := range set {
			room := w.rooms[m]
			if m == w.self.Machine {
				room = own
			}
			if s := w.era.streams[m]; s != nil && (s.full || room >= least) {
				return m
			}
		}
	}
	return 0
}

// errFull returns the error for a client if the disk of a machine is full.
func errFull(v *view.View, id trie.MachineID) error {
	at := ""
	if m := v.Find(id); m != nil {
		at = " at " + m.Address
	}
	return fmt.Errorf("%w: that of machine %s%s has less free space than it keeps for what is on its way: make room on it, or let other machines join",
		store.ErrDiskFull, id, at)
}
