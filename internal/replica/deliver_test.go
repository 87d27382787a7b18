// Tests of deliveries: the greatest stamp, places, repetitions and full disks.

package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

func TestDeliver(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	named := student(9)
	named.Graph = iri("g")
	triples := append(longs(1), named, student(1), student(2))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 5, 1, triples...)})
	sn := snapshot(t, s)
	for _, tr := range triples {
		if ok, err := sn.Has(ctx, tr); err != nil || !ok {
			t.Errorf("%s: %v, %v", tr, ok, err)
		}
	}
	if got := all(t, sn, triple.Pattern{}, store.ReadOptions{}); len(got) != len(triples) || !slices.Contains(got, triples[0]) {
		t.Errorf("%d triples, long ones not whole", len(got))
	}
	if n := s.Status().Triples; n != int64(len(triples)) {
		t.Errorf("%d triples are counted", n)
	}

	// A delete leaves tombstones in all orders, and reads skip them.
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 2), Operations: operations(store.OperationDelete, 5, 9, triples[0], named, student(77))})
	checked(t, s)
	dead := 0
	for _, row := range heldRows(t, s) {
		if row.dead {
			dead++
		}
	}
	if dead != 4+4+3 {
		t.Errorf("%d tombstones", dead)
	}
	sn = snapshot(t, s)
	for name, count := range map[string]func() (int64, error){
		"count":       func() (int64, error) { return sn.Count(ctx, triple.Pattern{}) },
		"count range": func() (int64, error) { return sn.CountRange(ctx, triple.Bounds{Order: triple.POS}) },
		"estimate":    func() (int64, error) { n, _, err := sn.Estimate(t.Context(), triple.Pattern{}); return n, err },
		"source":      func() (int64, error) { return sn.Source().Count(ctx, triple.OrderRange(triple.OSP)) },
		"status":      func() (int64, error) { return s.Status().Triples, nil },
	} {
		if n, err := count(); err != nil || n != 2 {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
	if ok, err := sn.Has(ctx, named); ok || err != nil {
		t.Errorf("deleted: %v, %v", ok, err)
	}
	looked := 0
	ranges := []triple.Range{exact(t, triple.SPO, student(1)), exact(t, triple.SPO, student(77)), exact(t, triple.SPO, named)}
	slices.SortFunc(ranges, func(a, b triple.Range) int { return slices.Compare(a.Lo, b.Lo) })
	if err := sn.Source().Lookup(ctx, ranges, func(int, []byte, []byte) error { looked++; return nil }); err != nil || looked != 1 {
		t.Errorf("looked up %d, %v", looked, err)
	}

	// The greatest stamp stays, in any order of arrival.
	deliver(t, s, j, Delivery{Origin: origin(8, 1, 1), Operations: append(
		operations(store.OperationAdd, 5, 3, named, student(77)), // overtaken by their deletes
		operations(store.OperationDelete, 4, 100, student(1))...)})
	if n := s.Status().Triples; n != 2 {
		t.Errorf("%d triples after operations that came late", n)
	}
	deliver(t, s, j, Delivery{Origin: origin(8, 1, 2), Operations: operations(store.OperationAdd, 6, 1, named)})
	spo := operation(store.OperationAdd, named, 0, 0).Key
	absent, gone := operation(store.OperationAdd, student(500), 0, 0).Key, operation(store.OperationAdd, student(77), 0, 0).Key
	keys := [][]byte{spo, absent, gone}
	slices.SortFunc(keys, slices.Compare)
	states, err := s.States(ctx, keys)
	require.NoError(t, err)
	for i, key := range keys {
		want := RowState{}
		switch string(key) {
		case string(spo):
			want = RowState{triple.Stamp{Epoch: 6, Sequence: 1}, true, true}
		case string(gone):
			want = RowState{triple.Stamp{Epoch: 5, Sequence: 11}, true, false}
		}
		if states[i] != want {
			t.Errorf("%q: %+v, want %+v", key, states[i], want)
		}
	}
	slices.Reverse(keys)
	if _, err := s.States(ctx, keys); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("states of keys that descend: %v", err)
	}
	if n := s.Status().Triples; n != 3 {
		t.Errorf("%d triples", n)
	}
	checked(t, s)
}

// A delete removes the annotations in every order, except the annotations of other triples and
// newer ones.
func TestDeliverRemovesAnnotations(t *testing.T) {
	s := openMem(t, store.Options{})
	add(t, s, students(0, 3)...)
	named := student(1)
	named.Graph = iri("g") // its rows lie between a triple and its annotations
	add(t, s, named)
	for _, tr := range []triple.Triple{student(1), student(2), named} {
		annotate(t, s, tr, "a")
		annotate(t, s, tr, "b")
	}
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationDelete, s.Epoch()+1, 1, student(1))})
	if st := s.Status(); st.Annotations != 4 || st.Triples != 3 {
		t.Errorf("%+v", st)
	}
	if r := checked(t, s); r.Annotations != 4 {
		t.Errorf("%d annotations", r.Annotations)
	}
}

// Rows must go into the places of the machine, and nowhere else.
func TestDeliverSlots(t *testing.T) {
	s := openMem(t, store.Options{})
	rng := random(t)
	for others := range 5 {
		l := sample.Layout(t, s, others, draws(rng, 40)...)
		want := heldRows(t, s)
		var ops []Operation
		for i, tr := range draws(rng, 200) {
			o := operation(store.OperationAdd, tr, uint64(others+2), uint64(i+1))
			ops = append(ops, o)
			for _, key := range slotKeys(t, l, s.MachineID(), o.Key) {
				want[key] = held{stamp: o.Stamp}
			}
		}
		deliver(t, s, idle(l), Delivery{Origin: origin(7, 1, uint64(others+1)), Operations: ops})
		sameRows(t, heldRows(t, s), want)
	}
}

// The same delivery again writes nothing twice and reverts no commit. It writes the rows that
// another layout adds.
func TestDeliverAgain(t *testing.T) {
	s := openMem(t, store.Options{})
	few, all := sample.Layout(t, s, 6, students(0, 20)...), sample.Layout(t, s, 0)
	d := Delivery{Origin: origin(7, 1, 3), Operations: operations(store.OperationAdd, 2, 1, students(0, 20)...)}
	deliver(t, s, idle(few), d)
	before := heldRows(t, s)
	deliver(t, s, idle(few), d)
	sameRows(t, heldRows(t, s), before)
	if len(before) == 60 {
		t.Fatal("not a test: the machine has all")
	}
	deliver(t, s, idle(all), d)
	if st := s.Status(); st.Triples != 20 {
		t.Errorf("%d triples", st.Triples)
	}
	if b := s.InFlightBatches(); len(b) != 1 || len(b[0].Operations) != 20 {
		t.Errorf("unsettled: %v", b)
	}
	deliver(t, s, idle(all), Delivery{Origin: origin(7, 1, 4), Committed: 3})
	deliver(t, s, idle(all), d)
	if b := s.InFlightBatches(); len(b) != 0 {
		t.Errorf("unsettled: %v", b)
	}
	if h := s.SequencerStates(); len(h) != 1 || h[0].Last != 4 || h[0].Committed != 3 {
		t.Errorf("%+v", h)
	}
}

func TestDeliverRefuses(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	good := operation(store.OperationAdd, student(0), 2, 1)
	long := operation(store.OperationAdd, longs(1)[0], 2, 1)
	pos, _ := triple.AppendKey(nil, triple.POS, student(0))
	long.Long = long.Long[:len(long.Long)-1]
	for name, d := range map[string]Delivery{
		"no origin": {Operations: []Operation{good}},
		"no key":    {Origin: origin(7, 1, 1), Operations: []Operation{{Kind: store.OperationAdd}}},
		"no kind":   {Origin: origin(7, 1, 1), Operations: []Operation{{Key: good.Key}}},
		"pos":       {Origin: origin(7, 1, 1), Operations: []Operation{{Kind: store.OperationAdd, Key: pos}}},
		"half":      {Origin: origin(7, 1, 1), Operations: []Operation{good, {Kind: store.OperationAdd, Key: good.Key[:9]}}},
		"long term": {Origin: origin(7, 1, 1), Operations: []Operation{long}},
	} {
		if err := s.Deliver(ctx, &d, j); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if rows, h := heldRows(t, s), s.SequencerStates(); len(rows) > 0 || len(h) > 0 {
		t.Errorf("%v, %v", rows, h)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	d := Delivery{Origin: origin(7, 1, 1), Operations: []Operation{good}}
	if err := s.Deliver(ended, &d, j); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Nothing of the delivery's memory is kept.
func TestDeliverKeepsNothing(t *testing.T) {
	s := openMem(t, store.Options{})
	d := Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, students(0, 5)...), Acks: map[trie.MachineID]uint64{3: 4}}
	want := operations(store.OperationAdd, 2, 1, students(0, 5)...)
	deliver(t, s, idle(sample.Layout(t, s, 0)), d)
	for _, o := range d.Operations {
		clear(o.Key)
	}
	clear(d.Operations)
	clear(d.Acks)
	b := s.InFlightBatches()
	if len(b) != 1 || !slices.EqualFunc(b[0].Operations, want, func(a, b Operation) bool {
		return a.Kind == b.Kind && a.Stamp == b.Stamp && string(a.Key) == string(b.Key)
	}) {
		t.Errorf("%v", b)
	}
	if h := s.SequencerStates(); len(h) != 1 || h[0].Acks[3] != 4 {
		t.Errorf("%+v", h)
	}
	checked(t, s)
}

// Waiting deliveries are one commit; they may be of the same triples.
func TestDeliverGroups(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	const many = 20
	send := func(i int) *stamped {
		kind := store.OperationAdd
		if i%2 == 1 {
			kind = store.OperationDelete
		}
		d := Delivery{Origin: origin(trie.MachineID(100+i), 1, 1), Operations: operations(kind, 2, uint64(1+i), student(1))}
		r, err := s.newDelivery(&d, j)
		require.NoError(t, err)
		return r
	}
	var group []store.Job
	for i := 0; i <= many; i++ {
		group = append(group, send(i))
	}
	require.NoError(t, s.Committer().Exclusive(func(c *store.Commit) error { return group[0].Commit(c, group) }))
	states, err := s.States(ctx, [][]byte{operation(store.OperationAdd, student(1), 0, 0).Key})
	if err != nil || states[0] != (RowState{triple.Stamp{Epoch: 2, Sequence: many + 1}, true, true}) {
		t.Errorf("%+v, %v", states, err)
	}
	if n := s.Status().Triples; n != 1 {
		t.Errorf("%d triples", n)
	}
	if n := len(s.InFlightBatches()); n != many+1 {
		t.Errorf("%d batches", n)
	}
}

// A delivery may use half of the reserved space, because other machines count on it; a fill may
// not. Below that half, nothing of a delivery is done.
func TestDeliverDiskFull(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs})
	free := func(mib uint64, want store.Room) {
		t.Helper()
		fs.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: mib << 20, TotalBytes: 20 << 30})                                                                    // 409 MiB are kept free
		await.Condition(t, fmt.Sprintf("%d MiB free: room %d", mib, want), func() bool { return s.Status().FreeBytes == int64(mib<<20) && s.Room() == want }) // a look at the disk is good for a while
	}
	free(10<<10, store.RoomForAll)
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 2, 1, students(0, 3)...)})
	free(320, store.RoomForDeletes)
	d := Delivery{Origin: origin(7, 1, 2), Operations: append(operations(store.OperationDelete, 2, 4, student(0)), operation(store.OperationAdd, student(9), 2, 5))}
	if err := s.Fill(ctx, []FillRow{fillRow(keyspace.Storage, d.Operations[1])}); !errors.Is(err, store.ErrDiskFull) {
		t.Fatalf("fill: %v", err)
	}
	deliver(t, s, j, d)
	free(250, store.RoomForNone)
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 3), Operations: operations(store.OperationAdd, 2, 6, student(10))})
	before := heldRows(t, s)
	free(200, store.RoomForNone)
	for _, kind := range []store.OperationKind{store.OperationAdd, store.OperationDelete} {
		d := Delivery{Origin: origin(7, 1, 4), Operations: operations(kind, 2, 7, student(1))}
		if err := s.Deliver(ctx, &d, j); !errors.Is(err, store.ErrDiskFull) {
			t.Fatalf("kind %d: %v", kind, err)
		}
	}
	sameRows(t, heldRows(t, s), before)
	if h := s.SequencerStates(); h[0].Last != 3 {
		t.Errorf("%+v", h)
	}
	if n := s.Status().Triples; n != 4 {
		t.Errorf("%d triples", n)
	}
}

// The store's own stamps must be greater than all stamps of others.
func TestDeliverRaisesStamps(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs})
	add(t, s, student(0))
	if s.Epoch() != 1 {
		t.Fatalf("epoch %d", s.Epoch())
	}
	j := idle(sample.Layout(t, s, 0))
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: operations(store.OperationAdd, 41, 1<<40, student(1))})
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 2), Operations: operations(store.OperationAdd, 40, 1, student(2))})
	if s.Epoch() != 42 || s.Status().Epoch != 42 {
		t.Fatalf("epoch %d, status %d", s.Epoch(), s.Status().Epoch)
	}
	require.NoError(t, s.Close())
	s = openMem(t, store.Options{FS: fs})
	add(t, s, student(3))
	states, err := s.States(ctx, [][]byte{operation(store.OperationAdd, student(3), 0, 0).Key})
	if err != nil || !(triple.Stamp{Epoch: 41, Sequence: 1 << 50}).Less(states[0].Stamp) {
		t.Errorf("%+v, %v", states, err)
	}
}

// If a joint view adds an extra copy, it is written beside the places of base.
func TestDeliverJoint(t *testing.T) {
	s := openMem(t, store.Options{})
	base, target := sample.Layout(t, s, 5, students(0, 30)...), sample.Layout(t, s, 2, students(0, 10)...)
	j := &recovery.Joint{Base: base, Target: target, Phase: recovery.Fill,
		Members: target.Placement.Machines(), BaseLive: trie.NewRing(s.MachineID())}
	want := map[string]held{}
	ops := operations(store.OperationAdd, 2, 1, students(0, 30)...)
	for _, o := range ops {
		for _, l := range []recovery.Layout{base, target} {
			for _, key := range slotKeys(t, l, s.MachineID(), o.Key) {
				want[key] = held{stamp: o.Stamp}
			}
		}
	}
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 1), Operations: ops})
	sameRows(t, heldRows(t, s), want)
}
