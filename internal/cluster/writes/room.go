// Room for operations: the limit of memory for those in flight, and the disks of the members.

package writes

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// memoryLimit bounds the bytes of operations in flight.
//
// Invariant: used is at most limit, or the size of one request; more only by parts of transactions, which their
// coordinators bound. If these waited, those that wait for each other would never end.
type memoryLimit struct {
	mu          sync.Mutex
	limit, used int64
	freed       notify.Broadcast // used shrinks
}

// take waits until n bytes are free, or until nothing is used.
func (l *memoryLimit) take(ctx context.Context, n int64) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.mu.Lock()
		if l.used == 0 || l.used+n <= l.limit {
			l.used += n
			l.mu.Unlock()
			return nil
		}
		freed := l.freed.Next()
		l.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}

// force takes n bytes at once, although they may exceed the limit.
func (l *memoryLimit) force(n int64) {
	l.mu.Lock()
	l.used += n
	l.mu.Unlock()
}

// give frees n bytes.
func (l *memoryLimit) give(n int64) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	l.used -= n
	l.freed.Send()
	l.mu.Unlock()
}

func (l *memoryLimit) inUse() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used
}

// operationBytes estimates the memory of an operation without its key and long terms: the
// struct, its copies in lists of holders, and the state of its key.
const operationBytes = 256

func sizeOf(operations []replica.Operation) (n int64) {
	for i := range operations {
		n += size(&operations[i])
	}
	return n
}

// sizeWithoutRecords is sizeOf without records: as when they were stamped, they need no room. So they cannot keep out the
// operations that they wait for.
func sizeWithoutRecords(operations []replica.Operation) (n int64) {
	for i := range operations {
		if !isRecord(operations[i]) {
			n += size(&operations[i])
		}
	}
	return n
}

func size(o *replica.Operation) int64 {
	return int64(bytesOf(o)) + operationBytes
}

// bytesOf returns the bytes of an operation of variable size.
func bytesOf(o *replica.Operation) int {
	n := len(o.Key) + len(o.Long)
	if o.Annotation != nil {
		n += len(o.Annotation.ApplicationID) + len(o.Annotation.Data)
	}
	return n
}

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
		if o := &r.operations[i]; o.Kind == store.OperationAdd || o.Annotation != nil && !o.Annotation.Removed {
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
