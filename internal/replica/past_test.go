// Tests of the rows of earlier ticks.

package replica

import (
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// TestPastIsKept: rows of earlier ticks are right or refused. In each case, one batch adds a triple and a
// later one deletes it, or the other way round, and both are committed, at ticks 5 and 7 of epoch 4.
func TestPastIsKept(t *testing.T) {
	at := func(n uint64) triple.Stamp { return triple.Stamp{Epoch: 4, Sequence: n} }
	both := CommitTicks{Last: at(7), Batches: []BatchTick{{1, 5}, {2, 7}}}
	key := operations(store.OperationAdd, 1, 1, student(1))[0].Key
	for name, c := range map[string]struct {
		ticks  CommitTicks
		first  store.OperationKind // of the first batch
		before func(*Store)        // the commits are known
		after  func(*Store, recovery.Layout)
		want   map[uint64]int // live rows by tick; -1: not kept
	}{
		"kept":                           {ticks: both, want: map[uint64]int{0: 0, 4: 0, 5: 1, 6: 1, 7: 0, 8: 0}},
		"deleted first":                  {ticks: both, first: store.OperationDelete, want: map[uint64]int{4: 0, 5: 0, 6: 0, 7: 1}},
		"committed in an earlier epoch":  {ticks: CommitTicks{Last: at(7)}, want: map[uint64]int{0: 0, 7: 0}},
		"committed before a later epoch": {ticks: CommitTicks{Last: triple.Stamp{Epoch: 5}}, want: map[uint64]int{0: -1, 7: -1}},
		"ticks are forgotten":            {ticks: CommitTicks{Last: at(7), Partial: true}, want: map[uint64]int{0: -1, 6: -1, 7: 0}},
		"one tick is forgotten": {ticks: CommitTicks{Last: at(7), Batches: []BatchTick{{2, 7}}, Partial: true},
			want: map[uint64]int{0: -1, 6: -1, 7: 0}},
		"reports of an earlier epoch": {ticks: CommitTicks{Last: triple.Stamp{Epoch: 3, Sequence: 9}, Batches: []BatchTick{{1, 5}, {2, 9}}},
			want: map[uint64]int{0: 0, 9: 0}},
		"reports of a later epoch": {ticks: CommitTicks{Last: triple.Stamp{Epoch: 5, Sequence: 9}, Batches: []BatchTick{{1, 5}, {2, 9}}},
			want: map[uint64]int{0: -1, 900: -1}},
		"another epoch": {ticks: both, after: func(s *Store, _ recovery.Layout) { s.BeginEpoch(5) }, want: map[uint64]int{0: -1, 7: -1}},
		"purged": {ticks: both, after: func(s *Store, l recovery.Layout) {
			purge(t, s, idle(l), Floors{s.MachineID(): {Epoch: 9}})
		}, want: map[uint64]int{4: -1, 5: -1, 6: -1, 7: 0}},
		"an older row came later": {ticks: both, first: store.OperationDelete, after: func(s *Store, l recovery.Layout) {
			value := triple.Value{Stamp: triple.Stamp{Epoch: 1, Sequence: 1}}
			if err := s.Fill(ctx, []FillRow{{Table: keyspace.Storage, Key: key, Value: value.Append(nil)}}); err != nil {
				t.Error(err)
			}
		}, want: map[uint64]int{4: -1, 5: -1, 6: -1, 7: 1}},
		"what they have overwritten is unknown": {ticks: both, before: func(s *Store) { s.inFlight.forgetOverwritten() },
			want: map[uint64]int{4: -1, 6: -1, 7: 0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openMem(t, store.Options{})
			s.BeginEpoch(4)
			layout := sample.Layout(t, s, 0)
			kinds := []store.OperationKind{store.OperationAdd, store.OperationDelete}
			if c.first == store.OperationDelete {
				kinds[0], kinds[1] = kinds[1], kinds[0]
			}
			for i, kind := range kinds {
				deliver(t, s, idle(layout), Delivery{Origin: origin(7, 1, uint64(i+1)), Operations: operations(kind, 4, uint64(i+1), student(1)), Open: []uint64{1}, Committed: uint64(i), Epoch: 4})
			}
			if c.before != nil {
				c.before(s)
			}
			s.RecordCommitted(origin(7, 1, 2), nil, nil, c.ticks)
			if c.after != nil {
				c.after(s, layout)
			}
			for tick, want := range c.want {
				rows, err := rowsAt(s, at(tick), keyspace.Storage, triple.OrderRange(triple.SPO))
				got := len(rows)
				if errors.Is(err, errNotKept) {
					got = -1
				} else if err != nil {
					t.Fatal(err)
				}
				if got != want {
					t.Errorf("tick %d: %d rows, want %d", tick, got, want)
				}
			}
		})
	}
}

// The past is bounded: the oldest batches go first, and ticks before them are refused.
func TestPastIsBounded(t *testing.T) {
	var p past
	p.begin(4)
	big := make([]byte, maxPast/4)
	for n := range uint64(9) {
		o := operations(store.OperationAdd, 4, n+1, student(1))
		e := newEntry(origin(7, 1, n+1), 4, o)
		e.overwritten = []overwritten{{key: o[0].Key, stamp: o[0].Stamp, before: big}}
		last := triple.Stamp{Epoch: 4, Sequence: n + 1}
		p.add(e, &CommitTicks{Last: last, Batches: []BatchTick{{n + 1, n + 1}}})
	}
	if n := len(p.batches); n != 3 || p.floor.Sequence != 6 || p.bytes > maxPast || p.bytes < maxPast/2 {
		t.Errorf("%d batches of %d bytes from tick %d", n, p.bytes, p.floor.Sequence)
	}
	if later := p.batchesAfter(triple.Stamp{Epoch: 4, Sequence: 8}); len(later) != 1 || later[0].tick != 9 {
		t.Errorf("%v", later)
	}
}
