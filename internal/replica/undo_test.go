// Tests of the rows before operations in flight.

package replica

import (
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

// rowsBefore returns the keys of the live rows of a table before batches in flight.
func rowsBefore(s *Store, table byte, r triple.Range, batches ...Origin) (keys []string, err error) {
	sn, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	undo, ok := s.Undo(batches, table, []triple.Range{r})
	if !ok {
		return nil, errors.New("too many")
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
	batch   uint64
	stamp   uint64
}

// deliver delivers some batches at once: of new operations, or an open one again under a new number.
func (un *undoing) deliver() {
	committed, open := un.batch, un.numbers()
	d := Delivery{Open: open, Committed: committed}
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

// settle commits some open batches.
func (un *undoing) settle() {
	for _, o := range un.some() {
		delete(un.open, o)
	}
	un.store.RecordCommitted(origin(7, 1, un.batch), un.numbers(), nil)
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
	undoable, _ := un.store.Undoable(un.some(), 0)
	undone := map[triple.Stamp]bool{}
	for _, o := range undoable {
		for _, op := range un.open[o] {
			undone[op.Stamp] = true
		}
	}
	for _, table := range []byte{keyspace.Storage, keyspace.Replica} {
		var want []string
		for key, operations := range un.arrived {
			var newest triple.Stamp
			for stamp := range operations {
				if !undone[stamp] && newest.Less(stamp) {
					newest = stamp
				}
			}
			if key[0] == table && operations[newest] {
				want = append(want, key[1:])
			}
		}
		slices.Sort(want)
		if got, err := rowsBefore(un.store, table, triple.Range{}, undoable...); err != nil || !slices.Equal(got, want) {
			un.Fatalf("table %d before %v: %q, %v, want %q", table, undoable, got, err, want)
		}
	}
	return len(undoable) > 0
}

// The rows before batches in flight are those without their operations, in each order and whatever was
// written since.
func TestUndoAtRandom(t *testing.T) {
	rng := random(t)
	undone := 0
	for range 30 {
		s := openMem(t, store.Options{FS: vfs.NewMem()})
		un := &undoing{T: t, rng: rng, store: s, layout: sample.Layout(t, s, 2), arrived: map[string]map[triple.Stamp]bool{}, open: map[Origin][]Operation{}}
		for range 60 {
			switch rng.IntN(12) {
			case 0:
				un.fill()
			case 1, 2, 3:
				un.settle()
			default:
				un.deliver()
			}
			if un.check() {
				undone++
			}
		}
	}
	if undone < 300 {
		t.Errorf("only %d times anything was undone", undone)
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
	s.RecordCommitted(origin(7, 1, 2), []uint64{2}, nil)
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
