// The room on the disks of the members: a full one refuses operations.

package writes

import (
	"fmt"
	"maps"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// diskRooms is the room on the disks of the other members.
type diskRooms struct {
	mu    sync.Mutex
	rooms map[trie.MachineID]store.Room // of members without room for everything
}

// SetRooms replaces the known room of the members by the leader's. If a member is not in rooms,
// it has room for everything.
func (dr *diskRooms) SetRooms(rooms map[trie.MachineID]store.Room) {
	dr.mu.Lock()
	defer dr.mu.Unlock()
	dr.rooms = maps.Clone(rooms)
}

// set records the room of a member, from its own answer.
func (dr *diskRooms) set(m trie.MachineID, r store.Room) {
	dr.mu.Lock()
	defer dr.mu.Unlock()
	switch {
	case r == store.RoomForAll:
		delete(dr.rooms, m)
	case dr.rooms == nil:
		dr.rooms = map[trie.MachineID]store.Room{m: r}
	default:
		dr.rooms[m] = r
	}
}

func (dr *diskRooms) of(m trie.MachineID) store.Room {
	dr.mu.Lock()
	defer dr.mu.Unlock()
	return dr.rooms[m]
}

// lacksRoom returns a holder without room for a request, 0 if all have room. If a holder could
// not take the operations in flight, it has no room for anything, because more would wait in
// the same stream.
func (sq *sequencer) lacksRoom(r *request) (lacks trie.MachineID) {
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
	local := sq.holder.disk.Room()
	for _, set := range r.route.sets {
		for _, m := range set {
			if m == 0 {
				continue
			}
			room := local
			if m != sq.self.Machine {
				room = sq.diskRooms.of(m)
			}
			if room >= least || sq.flight.full(m) {
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
