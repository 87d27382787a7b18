package writes

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// narrow is a store whose disk has as much room as a test says.
type narrow struct {
	Store
	room atomic.Int32
}

func (n *narrow) Room() node.Room { return node.Room(n.room.Load()) }

// What a holder says of its disk decides what is stamped for it: nothing that is on
// its way gets stuck.
func TestRoom(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(3, Options{})
	ms[2].stop()
	third := &member{}
	disk := &narrow{Store: ms[2].store}
	w.start(ms[2].store, disk, Options{}, third)
	ms[2] = third
	l := w.layout(ms, [4]*member{ms[0], ms[0], ms[0], ms[0]})
	v := w.viewOf(2, recovery.Idle, ms, l, l)
	adoptAll(v, ms...)
	write := func(m *member, kind node.OperationKind, fact int) error {
		_, _, err := m.writes.Write(ctx, kind, facts(fact, fact+1))
		return err
	}
	refused := func(kind node.OperationKind, fact int) {
		t.Helper()
		for _, m := range ms {
			if err := write(m, kind, fact); !errors.Is(err, node.ErrDiskFull) || !strings.Contains(err.Error(), third.id.String()) {
				t.Errorf("kind %d through %s: %v", kind, m.id, err)
			}
		}
		if n := len(third.store.UnsettledBatches()); n > 1 {
			t.Errorf("%d batches wait", n)
		}
	}
	taken := func(kind node.OperationKind, fact int) {
		t.Helper()
		if err := write(ms[1], kind, fact); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
	taken(node.OperationAdd, 3)
	disk.room.Store(int32(node.RoomForDeletes))
	taken(node.OperationAdd, 1) // nobody knows yet, and there is room for what is on its way
	refused(node.OperationAdd, 2)
	taken(node.OperationDelete, 1)
	disk.room.Store(int32(node.RoomForNone))
	taken(node.OperationDelete, 3)
	refused(node.OperationDelete, 4)
	refused(node.OperationAdd, 4)
	disk.room.Store(int32(node.RoomForAll))
	ms[0].writes.SetRooms(nil) // as the leader has heard
	taken(node.OperationAdd, 5)
	disk.room.Store(int32(node.RoomForNone))
	ms[0].writes.SetRooms(map[trie.MachineID]node.Room{third.id: node.RoomForNone})
	refused(node.OperationDelete, 5)
	disk.room.Store(int32(node.RoomForAll))
	ms[0].writes.SetRooms(nil)
	taken(node.OperationDelete, 6)
	checkSlots(t, v, ms, fact(5), true)
	checkSlots(t, v, ms, fact(1), false)
}

// A sequencer whose own disk is full says so of itself.
func TestRoomOfTheSequencer(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(2, Options{})
	ms[0].stop()
	first := &member{}
	disk := &narrow{Store: ms[0].store}
	disk.room.Store(int32(node.RoomForDeletes))
	w.start(ms[0].store, disk, Options{}, first)
	ms[0] = first
	l := w.layout(ms, [4]*member{first, first, first, first})
	adoptAll(w.viewOf(2, recovery.Idle, ms, l, l), ms...)
	if _, _, err := ms[1].writes.Write(ctx, node.OperationAdd, facts(0, 3)); !errors.Is(err, node.ErrDiskFull) || !strings.Contains(err.Error(), first.id.String()) {
		t.Errorf("%v", err)
	}
	if s := first.writes.Stats(); s.Operations != 0 || s.InFlightBytes != 0 || s.Refused != 3 {
		t.Errorf("%+v", s)
	}
}

// stalls is a store whose first write takes longer than the store waits, and which has
// no room afterwards.
type stalls struct {
	Store
	tries, drains int
}

func (s *stalls) Deliver(context.Context, *node.Delivery, *recovery.Joint) error {
	if s.tries++; s.tries == 1 {
		return node.ErrUnknown
	}
	return node.ErrDiskFull
}

func (s *stalls) Drain(context.Context) error {
	s.drains++
	return nil
}

// A delivery that was begun has ended before the gate is left; that there is no room to
// write it once more does not hold the gate.
func TestFullAfterAStall(t *testing.T) {
	w := newWorld(t)
	ms := w.machines(1, Options{})
	ms[0].stop()
	m, disk := &member{}, &stalls{Store: ms[0].store}
	w.start(ms[0].store, disk, Options{}, m)
	l := w.layout([]*member{m}, [4]*member{m, m, m, m})
	v := w.viewOf(2, recovery.Idle, []*member{m}, l, l)
	adoptAll(v, m)
	within(t, "the delivery ends", func() {
		if err := m.writes.apply(ctx, &node.Delivery{}, v); !errors.Is(err, node.ErrDiskFull) {
			t.Error(err)
		}
	})
	if disk.tries != 2 || disk.drains != 1 {
		t.Errorf("%d tries, waited %d times", disk.tries, disk.drains)
	}
}
