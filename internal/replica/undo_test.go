// Tests of the rows before operations in flight.

package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/sample"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

var errNotKept = errors.New("these rows are not kept")

// rowsBefore returns the keys of the live rows of a table before batches in flight.
func rowsBefore(s *Store, table byte, r triple.Range, batches ...Origin) (keys []string, err error) {
	return rowsAt(s, triple.Stamp{}, table, r, batches...)
}

// rowsAt is rowsBefore as of a tick.
func rowsAt(s *Store, tick triple.Stamp, table byte, r triple.Range, batches ...Origin) (keys []string, err error) {
	sn, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	undo, ok := s.Undo(batches, tick, table, []triple.Range{r})
	if !ok {
		return nil, errNotKept
	}
	read := map[byte]func(context.Context, triple.Range) (*store.Rows, error){keyspace.Storage: sn.Rows, keyspace.Replica: sn.Replicas}[table]
	rows, err := read(ctx, r)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	rows.Replace(undo.Before)
	for rows.Next() {
		keys = append(keys, string(rows.Key()))
	}
	return keys, rows.Err()
}

// undoing is a holder that gets the batches of one sequencer, beside the operations that it should have.
type undoing struct {
	*testing.T
	rng     *rand.Rand
	store   *Store
	layout  recovery.Layout
	arrived map[string]map[triple.Stamp]bool // by Pebble key: the operations, true if they add
	open    map[Origin][]Operation
	ticks   map[triple.Stamp]uint64 // of the committed operations
	batch   uint64
	stamp   uint64
	tick    uint64
}

// deliver delivers some batches at once: of new operations, or an open one again under a new number.
func (un *undoing) deliver() {
	committed, open := un.batch, un.numbers()
	d := Delivery{Open: open, Committed: committed, Epoch: 1}
	if some := un.some(); len(some) > 0 && un.rng.IntN(5) == 0 {
		un.part(&d, un.open[some[0]])
	} else {
		for range 1 + un.rng.IntN(3) {
			var operations []Operation
			for range 1 + un.rng.IntN(4) {
				un.stamp++
				operations = append(operations, operation(store.OperationAdd+store.OperationKind(un.rng.IntN(2)), small(un.rng), 2, un.stamp))
			}
			un.part(&d, operations)
		}
	}
	deliver(un.T, un.store, idle(un.layout), d)
	for i := range d.Operations {
		un.arrive(&d.Operations[i])
	}
}

// part adds a batch to a delivery.
func (un *undoing) part(d *Delivery, operations []Operation) {
	un.batch++
	d.Origin = origin(7, 1, un.batch)
	un.open[d.Origin] = operations
	d.Parts = append(d.Parts, Part{un.batch, len(operations)})
	d.Operations = append(d.Operations, operations...)
}

func (un *undoing) arrive(o *Operation) {
	for _, key := range slotKeys(un.T, un.layout, un.store.MachineID(), o.Key) {
		if un.arrived[key] == nil {
			un.arrived[key] = map[triple.Stamp]bool{}
		}
		un.arrived[key][o.Stamp] = o.Kind == store.OperationAdd
	}
}

// fill fills an older row, or one that is in flight.
func (un *undoing) fill() {
	un.stamp++
	o := operation(store.OperationAdd, small(un.rng), 1+un.rng.Uint64N(2), un.stamp)
	value := triple.Value{Stamp: o.Stamp}
	for _, key := range slotKeys(un.T, un.layout, un.store.MachineID(), o.Key) {
		if err := un.store.Fill(ctx, []FillRow{{Table: key[0], Key: []byte(key[1:]), Value: value.Append(nil)}}); err != nil {
			un.Fatal(err)
		}
	}
	un.arrive(&o)
}

// settle commits some open batches, under all numbers of each.
func (un *undoing) settle() {
	ticks := CommitTicks{Last: triple.Stamp{Epoch: 1}}
	var committed []uint64
	for _, some := range un.some() {
		operations := un.open[some]
		if operations == nil {
			continue
		}
		un.tick += un.rng.Uint64N(2)
		for o, same := range un.open {
			if same[0].Stamp == operations[0].Stamp {
				ticks.Batches = append(ticks.Batches, BatchTick{o.Batch, un.tick})
				committed = append(committed, o.Batch)
				delete(un.open, o)
			}
		}
		for i := range operations {
			un.ticks[operations[i].Stamp] = un.tick
		}
	}
	ticks.Last.Sequence = un.tick
	slices.Sort(committed)
	slices.SortFunc(ticks.Batches, func(a, b BatchTick) int { return cmp.Compare(a.Batch, b.Batch) })
	if un.rng.IntN(3) == 0 {
		un.store.RecordSome(origin(7, 1, 0), committed, ticks)
	}
	un.store.RecordCommitted(origin(7, 1, un.batch), un.numbers(), nil, ticks)
}

// some returns about half of the open batches.
func (un *undoing) some() (some []Origin) {
	for o := range un.open {
		if un.rng.IntN(2) == 0 {
			some = append(some, o)
		}
	}
	slices.SortFunc(some, compareOrigins)
	return some
}

func (un *undoing) numbers() (open []uint64) {
	for o := range un.open {
		open = append(open, o.Batch)
	}
	slices.Sort(open)
	return open
}

// check compares the rows before some open batches with the operations without theirs. It returns whether
// there were any such batches.
func (un *undoing) check() bool {
	undoable, _ := un.store.Undoable(un.some(), 1)
	undone := map[triple.Stamp]bool{}
	for _, o := range undoable {
		for _, op := range un.open[o] {
			undone[op.Stamp] = true
		}
	}
	for _, table := range []byte{keyspace.Storage, keyspace.Replica} {
		want := un.without(table, undone)
		if got, err := rowsBefore(un.store, table, triple.Range{}, undoable...); err != nil || !slices.Equal(got, want) {
			un.Fatalf("table %d before %v: %q, %v, want %q", table, undoable, got, err, want)
		}
	}
	return len(undoable) > 0
}

// without returns the keys of the live rows of a table if some operations had not arrived.
func (un *undoing) without(table byte, undone map[triple.Stamp]bool) (keys []string) {
	for key, operations := range un.arrived {
		var newest triple.Stamp
		for stamp := range operations {
			if !undone[stamp] && newest.Less(stamp) {
				newest = stamp
			}
		}
		if key[0] == table && operations[newest] {
			keys = append(keys, key[1:])
		}
	}
	slices.Sort(keys)
	return keys
}

// checkTick compares the rows of some tick with the operations that were committed by then. It returns whether the
// store has kept them, and they differ from the present ones.
func (un *undoing) checkTick() bool {
	tick := un.tick - min(un.tick, un.rng.Uint64N(12))
	var open []Origin
	undone := map[triple.Stamp]bool{}
	for o, operations := range un.open {
		open = append(open, o)
		for i := range operations {
			undone[operations[i].Stamp] = true
		}
	}
	later := 0
	for stamp, committed := range un.ticks {
		if committed > tick {
			undone[stamp] = true
			later++
		}
	}
	undoable, others := un.store.Undoable(open, 1)
	if len(others) > 0 {
		return false
	}
	for _, table := range []byte{keyspace.Storage, keyspace.Replica} {
		r := triple.Range{}
		want := un.without(table, undone)
		if n := len(want); n > 0 && un.rng.IntN(2) == 0 {
			r.Lo = []byte(want[un.rng.IntN(n)])
			want = slices.DeleteFunc(want, func(key string) bool { return key < string(r.Lo) })
		}
		got, err := rowsAt(un.store, triple.Stamp{Epoch: 1, Sequence: tick}, table, r, undoable...)
		if errors.Is(err, errNotKept) {
			return false
		}
		if err != nil || !slices.Equal(got, want) {
			un.Fatalf("table %d at tick %d, %d operations later: %q, %v, want %q", table, tick, later, got, err, want)
		}
	}
	return later > 0
}

// The rows before batches in flight are those without their operations, in each order and whatever was
// written since. The rows of a tick are those of the operations that were committed by then.
func TestUndoAtRandom(t *testing.T) {
	rng := random(t)
	undone, earlier := 0, 0
	for run := range 40 {
		s := openMem(t, store.Options{FS: vfs.NewMem()})
		s.BeginEpoch(1)
		un := &undoing{T: t, rng: rng, store: s, layout: sample.Layout(t, s, 2), arrived: map[string]map[triple.Stamp]bool{}, open: map[Origin][]Operation{}, ticks: map[triple.Stamp]uint64{}}
		for range 60 {
			switch n := rng.IntN(12); {
			case n == 0 && run%4 > 0: // fills make the store forget
				un.fill()
			case n < 4:
				un.settle()
			default:
				un.deliver()
			}
			if un.check() {
				undone++
			}
			if un.checkTick() {
				earlier++
			}
		}
	}
	if undone < 300 || earlier < 100 {
		t.Errorf("only %d times anything was undone, and %d times of an earlier tick", undone, earlier)
	}
}

// If a fill brings a part of a batch before its delivery, readers wait for the batch.
func TestFillBeforeDelivery(t *testing.T) {
	s := openMem(t, store.Options{})
	batch := origin(7, 1, 2)
	both := operations(store.OperationAdd, 3, 5, student(1), student(2))
	value := triple.Value{Stamp: both[1].Stamp}
	require.NoError(t, s.Fill(ctx, []FillRow{{Table: keyspace.Storage, Key: both[1].Key, Value: value.Append(nil), InFlight: batch, Operation: &both[1]}}))
	deliver(t, s, idle(sample.Layout(t, s, 0)), Delivery{Origin: batch, Committed: 1, Operations: both})
	if undoable, others := s.Undoable([]Origin{batch}, 0); len(undoable) != 0 || len(others) != 1 {
		t.Errorf("%v, %v", undoable, others)
	}
}

// A batch has none of the rows of another sequencer, although that has given the same stamps.
func TestOwnRows(t *testing.T) {
	ours, theirs := origin(7, 1, 2), origin(8, 1, 2)
	stamps := operations(store.OperationAdd, 3, 5, student(1), student(2))
	var rows []overwritten
	for _, batch := range []*Origin{&ours, &theirs, nil} {
		for i := range stamps {
			rows = append(rows, overwritten{fmt.Appendf(nil, "%v %d", batch, i), stamps[i].Stamp, batch, []byte("before")})
		}
	}
	own := ownRows(rows, newEntry(ours, 3, stamps))
	if len(own) != 2 || string(own[0].key) != string(rows[0].key) || string(own[1].key) != string(rows[1].key) {
		t.Errorf("%d rows: %v", len(own), own)
	}
}

// A batch in flight keeps what its own rows have overwritten, and nothing else of its commit. When it is
// committed it keeps nothing.
func TestOverwrittenIsOwn(t *testing.T) {
	s := openMem(t, store.Options{})
	j := idle(sample.Layout(t, s, 0))
	all := operations(store.OperationAdd, 3, 1, students(0, 50)...)
	deliver(t, s, j, Delivery{Origin: origin(7, 1, 2), Parts: []Part{{1, 49}, {2, 1}}, Operations: all})
	entries := s.inFlight.streams[origin(7, 1, 1).stream()].entries
	first, second := entries[0], entries[1]
	if len(first.overwritten) != 49*3 || len(second.overwritten) != 3 {
		t.Errorf("%d and %d rows", len(first.overwritten), len(second.overwritten))
	}
	if key := second.overwritten[0].key; cap(key) != len(key) {
		t.Error("a key shares memory")
	}
	s.RecordCommitted(origin(7, 1, 2), []uint64{2}, nil, CommitTicks{})
	if first.overwritten != nil || second.overwritten == nil {
		t.Error("the first is committed, the second is not")
	}
}

// What a batch has overwritten is unknown after a restart, nor if it came by a fill, is another sequencer's,
// or if an older row comes later.
func TestNotUndoable(t *testing.T) {
	fs := vfs.NewMem()
	s := openMem(t, store.Options{FS: fs})
	j := idle(sample.Layout(t, s, 0))
	first, second := origin(7, 1, 1), origin(7, 1, 2)
	undoable := func(why string, want ...Origin) {
		t.Helper()
		if got, others := s.Undoable([]Origin{first, second, origin(7, 1, 99)}, 0); !slices.Equal(got, want) || len(others) != 2-len(want) {
			t.Fatalf("%s: %v and %v, want %v", why, got, others, want)
		}
	}
	deliver(t, s, j, Delivery{Origin: first, Operations: operations(store.OperationAdd, 3, 5, student(1))})
	handed := operation(store.OperationAdd, student(2), 3, 9)
	handed.Stamper = 9
	deliver(t, s, j, Delivery{Origin: second, Open: []uint64{1}, Operations: []Operation{handed}})
	undoable("another one has stamped the second", first)
	if got, others := s.Undoable([]Origin{first}, 4); len(got) != 0 || len(others) != 1 {
		t.Errorf("in another epoch: %v and %v", got, others)
	}
	if keys, err := rowsBefore(s, keyspace.Storage, exact(t, triple.POS, student(1)), first); err != nil || len(keys) != 0 {
		t.Errorf("%q, %v", keys, err)
	}
	o := operation(store.OperationAdd, student(1), 2, 5)
	value := triple.Value{Stamp: o.Stamp}
	require.NoError(t, s.Fill(ctx, []FillRow{{Table: keyspace.Storage, Key: o.Key, Value: value.Append(nil)}}))
	undoable("an older row came later")

	deliver(t, s, j, Delivery{Origin: origin(7, 1, 3), Committed: 2, Open: []uint64{1}, Operations: operations(store.OperationAdd, 3, 10, student(3))})
	second = origin(7, 1, 3)
	undoable("a newer batch", second)
	o = operation(store.OperationAdd, student(3), 3, 10)
	value = triple.Value{Stamp: o.Stamp}
	require.NoError(t, s.Fill(ctx, []FillRow{{Table: keyspace.Storage, Key: o.Key, Value: value.Append(nil)}}))
	undoable("a fill brought the same row")

	second = origin(7, 1, 4)
	deliver(t, s, j, Delivery{Origin: second, Committed: 3, Open: []uint64{1}, Operations: operations(store.OperationDelete, 3, 20, student(1))})
	undoable("a newer one", second)
	if keys, err := rowsBefore(s, keyspace.Storage, exact(t, triple.SPO, student(1)), second); err != nil || len(keys) != 1 {
		t.Errorf("%q, %v", keys, err)
	}
	require.NoError(t, s.Close())
	s = openMem(t, store.Options{FS: fs})
	undoable("it has started again")

	second = origin(7, 1, 5)
	o = operation(store.OperationAdd, student(4), 3, 30)
	value = triple.Value{Stamp: o.Stamp}
	require.NoError(t, s.Fill(ctx, []FillRow{{Table: keyspace.Storage, Key: o.Key, Value: value.Append(nil), InFlight: second, Operation: &o}}))
	undoable("it came by a fill")
}
