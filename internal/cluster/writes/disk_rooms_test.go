// Tests of writes if disks run out of room.

package writes

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// narrow is a store with the free room set by a test.
type narrow struct {
	holderStore
	room atomic.Int32
}

func (n *narrow) Room() store.Room { return store.Room(n.room.Load()) }

// A holder's report of its disk decides which operations are stamped for it, because operations
// in flight must not get stuck.
func TestRoom(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{})
	ms[2].stop()
	third := &machine{}
	disk := &narrow{holderStore: ms[2].store}
	w.start(ms[2].store, disk, Options{}, third)
	ms[2] = third
	l := w.layout(ms, [4]*machine{ms[0], ms[0], ms[0], ms[0]})
	v := w.viewOf(2, recovery.Idle, ms, l, l)
	adoptAll(v, ms...)
	write := func(m *machine, kind store.OperationKind, fact int) error {
		_, _, err := m.writes.Write(ctx, kind, facts(fact, fact+1))
		return err
	}
	refused := func(kind store.OperationKind, fact int) {
		t.Helper()
		for _, m := range ms {
			if err := write(m, kind, fact); !errors.Is(err, store.ErrDiskFull) || !strings.Contains(err.Error(), third.id.String()) {
				t.Errorf("kind %d through %s: %v", kind, m.id, err)
			}
		}
		if n := len(third.store.InFlightBatches()); n > 1 {
			t.Errorf("%d batches wait", n)
		}
	}
	taken := func(kind store.OperationKind, fact int) {
		t.Helper()
		if err := write(ms[1], kind, fact); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	taken(store.OperationAdd, 3)
	disk.room.Store(int32(store.RoomForDeletes))
	taken(store.OperationAdd, 1) // nobody knows yet, and there is room for what is on its way
	refused(store.OperationAdd, 2)
	taken(store.OperationDelete, 1)
	disk.room.Store(int32(store.RoomForNone))
	taken(store.OperationDelete, 3)
	refused(store.OperationDelete, 4)
	refused(store.OperationAdd, 4)
	disk.room.Store(int32(store.RoomForAll))
	ms[0].writes.SetRooms(nil) // as the leader has heard
	taken(store.OperationAdd, 5)
	disk.room.Store(int32(store.RoomForNone))
	ms[0].writes.SetRooms(map[trie.MachineID]store.Room{third.id: store.RoomForNone})
	refused(store.OperationDelete, 5)
	disk.room.Store(int32(store.RoomForAll))
	ms[0].writes.SetRooms(nil)
	taken(store.OperationDelete, 6)
	checkSlots(t, v, ms, fact(5), true)
	checkSlots(t, v, ms, fact(1), false)
}

// If a sequencer's own disk is full, it reports itself.
func TestRoomOfTheSequencer(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(2, Options{})
	ms[0].stop()
	first := &machine{}
	disk := &narrow{holderStore: ms[0].store}
	disk.room.Store(int32(store.RoomForDeletes))
	w.start(ms[0].store, disk, Options{}, first)
	ms[0] = first
	l := w.layout(ms, [4]*machine{first, first, first, first})
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	if _, _, err := ms[1].writes.Write(ctx, store.OperationAdd, facts(0, 3)); !errors.Is(err, store.ErrDiskFull) || !strings.Contains(err.Error(), first.id.String()) {
		t.Errorf("%v", err)
	}
	if s := first.writes.Stats(); s.Operations != 0 || s.InFlightBytes != 0 || s.Refused != 3 {
		t.Errorf("%+v", s)
	}
}

// stalls is a store with a first write longer than the store's timeout, and without room
// afterwards.
type stalls struct {
	holderStore
	tries, drains int
}

func (s *stalls) Deliver(context.Context, *replica.Delivery, *recovery.Joint) error {
	if s.tries++; s.tries == 1 {
		return store.ErrUnknown
	}
	return store.ErrDiskFull
}

func (s *stalls) Drain(context.Context) error {
	s.drains++
	return nil
}

// A begun delivery must end before the gate is left. If there is no room to write it once more,
// the gate must not stay held.
func TestFullAfterAStall(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(1, Options{})
	ms[0].stop()
	m, disk := &machine{}, &stalls{holderStore: ms[0].store}
	w.start(ms[0].store, disk, Options{}, m)
	l := w.layout([]*machine{m}, [4]*machine{m, m, m, m})
	v := w.viewOf(2, recovery.Idle, []*machine{m}, l, l)
	adoptAll(v, m)
	within(t, "the delivery ends", func() {
		if err := m.writes.holder.apply(ctx, &replica.Delivery{}, v); !errors.Is(err, store.ErrDiskFull) {
			t.Error(err)
		}
	})
	if disk.tries != 2 || disk.drains != 1 {
		t.Errorf("%d tries, waited %d times", disk.tries, disk.drains)
	}
}
