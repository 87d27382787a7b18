// Tests of the purge.

package replica

import (
	"context"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/memdisk"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// purge purges without limits.
func purge(t testing.TB, s *Store, j *recovery.Joint, f Floors) int64 {
	t.Helper()
	n, err := s.Purge(ctx, purgingOf(j, f))
	require.NoError(t, err)
	return n
}

func purgingOf(j *recovery.Joint, f Floors) Purging {
	return Purging{
		Joint: j, Floors: f,
		Enter: func() (func(), error) { return func() {}, nil },
		Pace:  func(ctx context.Context, _ int) error { return ctx.Err() },
	}
}

// Only the tombstones below the floor of their triple's sequencer go, in all orders and in the
// replica table, whether the store knows their keys or not.
func TestPurge(t *testing.T) {
	rng := random(t)
	for others := range 4 {
		s := openMem(t, store.Options{})
		l := sample.Layout(t, s, others, append(draws(rng, 20), students(100, 130)...)...)
		j := idle(l)
		triples := students(0, 300)
		deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, triples...)})
		for round, known := range []bool{false, true} {
			if s.tombstones.whole != known {
				t.Fatalf("round %d: the tombstones are known: %v", round, !known)
			}
			first := uint64(1000 * (round + 1))
			dead := triples[100*round : 100*round+100]
			deliver(t, s, j, Delivery{Origin: origin(7, 1, uint64(2+3*round)), Operations: operations(store.OperationDelete, 2, first, dead...)})
			again := operations(store.OperationAdd, 2, first+500, dead[:10]...)
			deliver(t, s, j, Delivery{Origin: origin(7, 1, uint64(3+3*round)), Operations: again})
			floors := Floors{}
			for i, m := range l.Placement.Machines() {
				floors[m] = triple.Stamp{Epoch: 2, Sequence: first + 20 + uint64(i)}
			}
			want := heldRows(t, s)
			gone := int64(0)
			r := j.Resolver()
			for key, row := range want {
				require.NoError(t, r.Resolve([]byte(key)[1:]))
				m, _ := r.Sequencer()
				if row.dead && row.stamp.Less(floors[m]) {
					delete(want, key)
					gone++
				}
			}
			if n := purge(t, s, j, floors); n != gone || n == 0 && others == 0 {
				t.Errorf("%d others: %d purged, want %d", others, n, gone)
			}
			got := heldRows(t, s)
			sameRows(t, got, want)
			if len(got) != len(want) {
				t.Errorf("%d others: %d rows, want %d", others, len(got), len(want))
			}
			if n := purge(t, s, j, floors); n != 0 {
				t.Errorf("%d more purged", n)
			}
			if left, all := s.Tombstones(); left == 0 && all && others == 0 {
				t.Error("those that are left are not counted")
			}
		}
		if others > 0 {
			continue
		}
		if r := checked(t, s); s.Status().Triples != r.Triples {
			t.Errorf("%d triples are counted, there are %d", s.Status().Triples, r.Triples)
		}
	}
}

// If a delivery comes once more, late, it must not bring back deleted rows.
func TestPurgeThenLateDelivery(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	late := Delivery{Origin: origin(s.MachineID(), 1, 1), Operations: operations(store.OperationAdd, 2, 1, students(0, 5)...)}
	deliver(t, s, j, late)
	deliver(t, s, j, Delivery{Origin: origin(s.MachineID(), 1, 2), Committed: 2, Operations: operations(store.OperationDelete, 2, 6, students(0, 5)...)})
	floors := Floors{s.MachineID(): {Epoch: 2, Sequence: 11}}
	s.SetFloors(floors)
	if n := purge(t, s, j, floors); n == 0 {
		t.Fatal("not a test: nothing is purged")
	}
	deliver(t, s, j, late)
	// The same operations under a new number, as when one is driven again.
	late.Origin.Batch = 3
	deliver(t, s, j, late)
	if rows := heldRows(t, s); len(rows) != 0 {
		t.Errorf("%d rows are back", len(rows))
	}
	if b := s.InFlightBatches(); len(b) != 0 {
		t.Errorf("unsettled: %v", b)
	}
	fresh := Delivery{Origin: origin(s.MachineID(), 1, 4), Operations: operations(store.OperationAdd, 2, 11, student(1))}
	deliver(t, s, j, fresh)
	if s.Status().Triples != 1 {
		t.Error("what is new is not written")
	}
	s.SetFloors(nil)
	deliver(t, s, j, late)
	if s.Status().Triples != 5 {
		t.Error("the floors outlive their view")
	}
}

// If a purge must end early, the next one does the rest.
func TestPurgeEnds(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationDelete, 2, 1, students(0, 3*purgeRows)...)})
	floors := Floors{s.MachineID(): {Epoch: 3}}
	p := purgingOf(j, floors)
	over, entered := errors.New("another view"), 0
	p.Enter = func() (func(), error) {
		if entered++; entered == 3 {
			return nil, over
		}
		return func() {}, nil
	}
	n, err := s.Purge(ctx, p)
	if !errors.Is(err, over) || n != 2*purgeRows {
		t.Errorf("%d purged, %v", n, err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Purge(ended, purgingOf(j, floors)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	purge(t, s, j, floors)
	if rows := heldRows(t, s); len(rows) != 0 {
		t.Errorf("%d rows are left", len(rows))
	}
	if n, all := s.Tombstones(); n != 0 || !all {
		t.Errorf("%d tombstones are counted", n)
	}
}

// If a batch was not in flight before SyncCommitted, it is not in flight after a crash.
func TestSyncCommitted(t *testing.T) {
	fs := memdisk.New()
	s := openMem(t, store.Options{FS: fs})
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, students(0, 5)...)})
	s.RecordCommitted(origin(7, 1, 1), nil, nil, CommitTicks{})
	require.NoError(t, s.SyncCommitted(ctx))
	after := openMem(t, store.Options{FS: fs.CrashClone(vfs.CrashCloneCfg{})})
	if b := after.InFlightBatches(); len(b) != 0 {
		t.Errorf("unsettled: %v", b)
	}
}

// If tombstones are too many to keep, the purge searches for them.
func TestTombstonesOverflow(t *testing.T) {
	var l tombstones
	l.take()
	l.add(make([][]byte, maxTombstones+1))
	if _, whole := l.take(); whole {
		t.Error("they are all known")
	}
	l.add([][]byte{make([]byte, maxTombstoneBytes+1)})
	if keys, whole := l.take(); whole || keys != nil {
		t.Error("they are kept")
	}
}
