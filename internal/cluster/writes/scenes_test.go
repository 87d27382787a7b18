// Tests of failures during a write, one scene each.

package writes

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/notify"
	"github.com/trefoildb/trefoil/internal/protocol"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/await"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The owners of the scenes: A has SPO, B has POS, C has OSP of all triples.
func scene(t testing.TB, extra int) (w *world, a, b, c *machine, rest []*machine, v *view.View) {
	t.Helper()
	w = newWorld(t)
	ms := w.machines(3+extra, Options{Heartbeat: time.Millisecond})
	l := w.layout(ms, [4]*machine{ms[0], ms[1], ms[2], ms[0]})
	v = w.viewOf(2, recovery.Idle, ms, l, l)
	adoptAll(v, ms...)
	return w, ms[0], ms[1], ms[2], ms[3:], v
}

// deliveriesTo returns a fate that stops deliveries to a machine and tells of
// the first.
func deliveriesTo(stopped trie.MachineID, f fate) (func(_, to trie.MachineID, method string) fate, <-chan struct{}) {
	tried := notify.NewWake()
	return func(_, to trie.MachineID, method string) fate {
		if to == stopped && method == MethodDeliver {
			tried.Send()
			return f
		}
		return arrives
	}, tried
}

// inBackground writes and gives the error.
func (m *machine) inBackground(ctx context.Context, kind store.OperationKind, ts ...triple.Triple) <-chan error {
	ended := make(chan error, 1)
	m.world.running.Go(func() {
		_, _, err := m.writes.Write(ctx, kind, ts)
		ended <- err
	})
	return ended
}

func (m *machine) holds(o triple.Order, tr triple.Triple) bool {
	_, ok := m.row(store.TableStorage, keyOf(o, tr))
	return ok
}

// A reads through SPO, B later through POS, while the write is half done: nobody
// is answered before all have it.
func TestReadsOfAHalfDoneWrite(t *testing.T) {
	w, a, b, c, _, v := scene(t, 0)
	tr := fact(1)
	f, tried := deliveriesTo(c.id, unsent)
	w.setFate(f)
	wrote := b.inBackground(ctx, store.OperationAdd, tr)
	<-tried
	await.Condition(t, "SPO and POS have it", func() bool { return a.holds(triple.SPO, tr) && b.holds(triple.POS, tr) })
	limited, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if live, err := a.read(limited, triple.SPO, tr); err == nil {
		t.Errorf("SPO answers %t while OSP lacks it", live)
	}
	if live, err := b.read(limited, triple.POS, tr); err == nil {
		t.Errorf("POS answers %t while OSP lacks it", live)
	}
	if live, err := c.read(ctx, triple.OSP, tr); live || err != nil {
		t.Errorf("OSP answers %t, %v", live, err)
	}
	later := make(chan error, 1)
	go func() {
		live, err := b.read(ctx, triple.POS, tr)
		if err == nil && !live {
			err = errors.New("it is not there")
		}
		later <- err
	}()
	w.setFate(nil)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if err := <-later; err != nil {
		t.Errorf("POS: %v", err)
	}
	checkSlots(t, v, []*machine{a, b, c}, tr, true)
}

// POS has v7, OSP not, the SPO owner dies: survivors wait, hand over, and then all
// have it.
func TestSequencerDies(t *testing.T) {
	w, a, b, c, rest, v := scene(t, 1)
	d := rest[0]
	tr := fact(1)
	add(t, b, tr)
	quiet(t, a, b, c, d)
	f, tried := deliveriesTo(c.id, unsent)
	w.setFate(f)
	wrote := d.inBackground(ctx, store.OperationDelete, tr)
	<-tried
	await.Condition(t, "POS has it", func() bool { row, _ := b.row(store.TableStorage, keyOf(triple.POS, tr)); return row.Tombstone })
	a.stop()
	if err := <-wrote; !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the write: %v", err)
	}
	w.setFate(nil)
	limited, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if live, err := b.read(limited, triple.POS, tr); err == nil {
		t.Errorf("POS answers %t, OSP has something else", live)
	}
	if live, err := c.read(ctx, triple.OSP, tr); !live || err != nil {
		t.Errorf("OSP answers %t, %v", live, err)
	}
	next, err := v.Exclude(a.id)
	require.NoError(t, err)
	adoptAll(next, c, d, b)
	within(t, "the read", func() {
		if live, err := b.read(ctx, triple.POS, tr); live || err != nil && !errors.Is(err, errNotOwner) {
			t.Errorf("POS answers %t, %v", live, err)
		}
	})
	for _, m := range []*machine{b, c, d} {
		await.Condition(t, "reconciled", m.writes.Reconciled)
	}
	quiet(t, b, c, d)
	checkSlots(t, next, []*machine{b, c, d}, tr, false)
	if row, _ := c.row(store.TableStorage, keyOf(triple.OSP, tr)); row.Stamp.Epoch != 2 || !row.Tombstone {
		t.Errorf("it was driven with another stamp: %+v", row)
	}
	if n := b.writes.Stats().HandedOver + c.writes.Stats().HandedOver + d.writes.Stats().HandedOver; n != 1 {
		t.Errorf("%d operations were driven, by each survivor its own", n)
	}
}

// The rows of a dead sequencer must not answer a new client: its operation is stamped, although
// it changes nothing.
func TestStateOfADeadSequencerIsNotReliedOn(t *testing.T) {
	w, a, b, c, _, v := scene(t, 0)
	tr := fact(1)
	f, tried := deliveriesTo(c.id, unsent)
	w.setFate(f)
	wrote := b.inBackground(ctx, store.OperationAdd, tr)
	<-tried
	await.Condition(t, "POS has it", func() bool { return b.holds(triple.POS, tr) && a.holds(triple.SPO, tr) })
	again := a.restart(Options{})
	<-wrote
	back, err := v.Readmit(view.Member{ID: a.id, Incarnation: again.incarnation, Address: "mem:a", Minor: protocol.Minor})
	require.NoError(t, err)
	// No hand-over comes through, so that the entry stays.
	w.setFate(func(_, to trie.MachineID, method string) fate {
		if method == methodHandover || method == MethodDeliver && to == c.id {
			return unsent
		}
		return arrives
	})
	adoptAll(back, again, b, c)
	unwait, err := back.Unwait(a.id)
	require.NoError(t, err)
	adoptAll(unwait, again, b, c)
	second := again.inBackground(ctx, store.OperationAdd, tr)
	await.Condition(t, "it is stamped", func() bool { return again.writes.Stats().Operations == 1 })
	select {
	case err := <-second:
		t.Errorf("answered from what is not settled: %v", err)
	default:
	}
	w.setFate(nil)
	if err := <-second; err != nil {
		t.Error(err)
	}
	checkSlots(t, unwait, []*machine{again, b, c}, tr, true)
	if row, _ := c.row(store.TableStorage, keyOf(triple.OSP, tr)); row.Stamp.Epoch != unwait.Epoch {
		t.Errorf("%+v", row)
	}
}

// The next incarnation of a machine drives the operations of the earlier one, before it has a
// lease.
func TestRestartHandsOverToItself(t *testing.T) {
	w, a, b, c, _, v := scene(t, 0)
	ts := facts(0, 40)
	f, tried := deliveriesTo(c.id, unsent)
	w.setFate(f)
	wrote := b.inBackground(ctx, store.OperationAdd, ts...)
	<-tried
	await.Condition(t, "POS has it", func() bool { return b.holds(triple.POS, ts[0]) && a.holds(triple.SPO, ts[0]) })
	again := a.restart(Options{})
	if err := <-wrote; !errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v", err)
	}
	w.setFate(nil)
	back, err := v.Readmit(view.Member{ID: a.id, Incarnation: again.incarnation, Address: "mem:a", Minor: protocol.Minor})
	require.NoError(t, err)
	if again.writes.Reconciled() {
		t.Error("reconciled before a view is adopted")
	}
	again.SetLease(errNoLease)
	adoptAll(back, again, b, c)
	for _, m := range []*machine{again, b, c} {
		await.Condition(t, "reconciled", m.writes.Reconciled)
	}
	for _, tr := range ts {
		checkSlots(t, back, []*machine{again, b, c}, tr, true)
	}
}

// A view change meets an operation that is half done: its client waits on, and
// the new places have it, with the old stamp.
func TestViewChangesInFlight(t *testing.T) {
	w, a, b, c, rest, _ := scene(t, 2)
	ms := append([]*machine{a, b, c}, rest...)
	d, e := rest[0], rest[1]
	tr := fact(1)
	f, tried := deliveriesTo(c.id, hangs)
	w.setFate(f)
	wrote := e.inBackground(ctx, store.OperationAdd, tr)
	<-tried
	await.Condition(t, "POS has it", func() bool { return b.holds(triple.POS, tr) })
	base := a.View().Base
	target := w.layout(ms, [4]*machine{a, b, d, a})
	fill := w.viewOf(3, recovery.Fill, ms, base, target)
	a.writes.inFlight.mu.Lock()
	half, late := a.writes.open[1], a.writes.era.streams[c.id]
	a.writes.inFlight.mu.Unlock()
	toD := notify.NewWake()
	w.setFate(func(_, to trie.MachineID, method string) fate { // from the first delivery of the new epoch on
		switch {
		case method == MethodDeliver && to == c.id:
			return unsent
		case method == MethodDeliver && to == d.id:
			toD.Send()
			return unsent
		}
		return arrives
	})
	adoptAll(fill, a, b, c, d) // e, the coordinator, stays behind
	a.writes.answered(late, []part{{batch: half, number: 1}})
	select {
	case err := <-wrote:
		t.Fatalf("answered: %v", err)
	default:
	}
	if a.writes.Reconciled() {
		t.Error("reconciled, while an operation of an older epoch is not settled")
	}
	<-toD
	f, _ = deliveriesTo(d.id, unsent)
	w.setFate(f)
	await.Condition(t, "OSP has it", func() bool { return c.holds(triple.OSP, tr) })
	select {
	case err := <-wrote:
		t.Fatalf("answered, although the target's slot lacks it: %v", err)
	default:
	}
	w.setFate(nil)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	e.adopt(fill)
	checkSlots(t, fill, ms, tr, true)
	if row, _ := d.row(store.TableStorage, keyOf(triple.OSP, tr)); row.Stamp != (triple.Stamp{Epoch: 2, Sequence: 1}) {
		t.Errorf("stamp %v", row.Stamp)
	}
	await.Condition(t, "reconciled", a.writes.Reconciled)
	a.emptied(t)
	if s := a.writes.Stats(); s.Redriven == 0 || s.InFlight != 0 {
		t.Errorf("%+v", s)
	}
	quiet(t, ms...)
}

// A holder that checks the epoch, sleeps, and writes after the view has changed:
// the change waits for it.
func TestAdoptionWaitsForApplies(t *testing.T) {
	asleep, wake := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w, ms := held(t, Options{Attempt: 10 * time.Millisecond}, func(*replica.Delivery) error {
		once.Do(func() { close(asleep); <-wake })
		return nil
	})
	third, l := ms[2], ms[2].View().Base
	wrote := third.inBackground(ctx, store.OperationAdd, fact(1))
	<-asleep
	// The sender gives up and tries again; the adoption waits all the same.
	await.Condition(t, "the sender has tried again", func() bool { return ms[0].writes.Stats().Retries > 1 })
	if third.Free() {
		t.Fatal("the view may change while a write is applied")
	}
	close(wake)
	third.adopt(w.viewOf(3, recovery.Idle, ms, l, l))
	adoptAll(third.View(), ms[:2]...)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	checkSlots(t, third.View(), ms, fact(1), true)
}

// A delivery of another epoch, or of a machine that is no member, is refused, and
// nothing of it is done.
func TestDeliveriesOfOtherEpochs(t *testing.T) {
	_, a, b, _, _, _ := scene(t, 0)
	o := replica.Operation{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 2, Sequence: 99}, Key: keyOf(triple.SPO, fact(1))}
	from := replica.Origin{Sequencer: a.id, Incarnation: a.incarnation, Batch: 7}
	gone := replica.Origin{Sequencer: a.id, Incarnation: a.incarnation + 1, Batch: 7}
	for epoch, origin := range map[uint64]replica.Origin{1: from, 3: from, 2: gone} {
		body := encodeDelivery(epoch, &replica.Delivery{Origin: origin, Operations: []replica.Operation{o}})
		if _, err := a.Call(ctx, b.id, MethodDeliver, body); !isRefusal(err) {
			t.Errorf("epoch %d: %v", epoch, err)
		}
	}
	if b.holds(triple.POS, fact(1)) || len(b.store.InFlightBatches()) != 0 {
		t.Error("it was written")
	}
}

// An add times out, a delete is acknowledged: the add is not sent again by a node.
func TestNothingIsResent(t *testing.T) {
	w, a, b, c, _, v := scene(t, 0)
	tr := fact(1)
	submits := 0
	w.setFate(func(_, _ trie.MachineID, method string) fate {
		if method == MethodSubmit {
			submits++
			return lost
		}
		return arrives
	})
	_, _, err := b.writes.Write(ctx, store.OperationAdd, []triple.Triple{tr})
	if !errors.Is(err, store.ErrUnknown) {
		t.Errorf("add: %v", err)
	}
	w.setFate(nil)
	remove(t, c, tr)
	if s := a.writes.Stats(); submits != 1 || s.Operations != 2 {
		t.Errorf("%d submissions, %d stamps", submits, s.Operations)
	}
	checkSlots(t, v, []*machine{a, b, c}, tr, false)
}

// A sequencer that was excluded is not waited for.
func TestSubmittedToAnExcludedSequencer(t *testing.T) {
	w, a, b, c, _, v := scene(t, 0)
	sent := notify.NewWake()
	w.setFate(func(_, to trie.MachineID, method string) fate {
		if to == a.id && method == MethodSubmit {
			sent.Send()
			return hangs
		}
		return arrives
	})
	wrote := b.inBackground(ctx, store.OperationAdd, fact(1))
	<-sent
	next, err := v.Exclude(a.id)
	require.NoError(t, err)
	adoptAll(next, b, c)
	if err := <-wrote; !errors.Is(err, store.ErrUnknown) {
		t.Errorf("%v", err)
	}
	add(t, b, fact(1))
	checkSlots(t, next, []*machine{b, c}, fact(1), true)
}

// The owner of a place may have an old row while the place is rebuilt. It must not rely on it: an
// add is stamped although a row is found.
func TestSlotsBeingRebuiltAreNotReliedOn(t *testing.T) {
	w, a, b, c, rest, v := scene(t, 1)
	d := rest[0]
	tr := fact(1)
	add(t, b, tr)
	// d has the version from some earlier target, and not the tombstone.
	row, _ := a.row(store.TableStorage, keyOf(triple.SPO, tr))
	require.NoError(t, d.store.Fill(ctx, []replica.FillRow{{Table: store.TableStorage, Key: keyOf(triple.SPO, tr), Value: row.Append(nil)}}))
	remove(t, b, tr)
	a.stop()
	ms := []*machine{b, c, d}
	next := w.viewOf(3, recovery.Fill, ms, v.Base, w.layout(ms, [4]*machine{d, b, c, d}))
	adoptAll(next, ms...)
	if m, _ := stampedBy(t, next, tr); m != d.id {
		t.Fatalf("the sequencer is %s", m)
	}
	add(t, b, tr)
	checkSlots(t, next, ms, tr, true)
}

// The owner of SPO is dead, and its successor changes twice. The first successor has not adopted the second
// view yet. It must not stamp lower than what the second one has committed, and a client has seen.
func TestSuccessorChanges(t *testing.T) {
	w, a, b, c, rest, v := scene(t, 2)
	d, e := rest[0], rest[1]
	tr := fact(1)
	a.stop()
	ms := []*machine{b, c, d}
	first := w.viewOf(3, recovery.Fill, ms, v.Base, w.layout(ms, [4]*machine{d, b, c, d}))
	adoptAll(first, ms...)
	ms = []*machine{b, c, d, e}
	second := w.viewOf(4, recovery.Fill, ms, v.Base, w.layout([]*machine{b, c, e}, [4]*machine{e, b, c, e}))
	adoptAll(second, b, c, e)
	add(t, e, tr)
	tried := notify.NewWake()
	w.setFate(func(from, _ trie.MachineID, _ string) fate {
		if from == d.id {
			tried.Send()
		}
		return arrives
	})
	removed := d.inBackground(ctx, store.OperationDelete, tr)
	<-tried
	d.adopt(second)
	require.NoError(t, <-removed)
	for _, r := range []struct {
		at *machine
		in triple.Order
	}{{b, triple.POS}, {c, triple.OSP}} {
		if live, err := r.at.read(ctx, r.in, tr); live || err != nil {
			t.Errorf("deleted, and %s of %s answers %t, %v", r.in, r.at.id, live, err)
		}
	}
}

// Which machines a sequencer asks before it stamps.
func TestConfirms(t *testing.T) {
	w, a, b, c, rest, v := scene(t, 2)
	d, e := rest[0], rest[1]
	for _, test := range []struct {
		name      string
		phase     recovery.Phase
		members   []*machine
		sequencer *machine
		spo       *machine // in target
		want      []*machine
	}{
		{"its place in base is live", recovery.Fill, []*machine{a, b, c, d}, a, d, nil},
		{"it has another place in base", recovery.Fill, []*machine{b, c, d}, b, b, nil},
		{"target is read", recovery.Serve, []*machine{b, c, d}, d, d, nil},
		{"a place in base is live", recovery.Fill, []*machine{c, d, e}, d, d, []*machine{c}},
		{"none is", recovery.Fill, []*machine{d, e}, d, d, []*machine{d, e}},
	} {
		ms := test.members
		of := w.viewOf(3, test.phase, ms, v.Base, w.layout(ms, [4]*machine{test.spo, ms[0], ms[1], test.spo}))
		r, err := newRoute(of, test.sequencer.id, []replica.Operation{{Kind: store.OperationAdd, Key: keyOf(triple.SPO, fact(1))}})
		if err != nil || r.foreign >= 0 {
			t.Fatalf("%s: %v, foreign %d", test.name, err, r.foreign)
		}
		want := map[trie.MachineID]bool{}
		for _, m := range test.want {
			want[m.id] = true
		}
		if !maps.Equal(r.confirms, want) {
			t.Errorf("%s: asks %v, not %v", test.name, r.confirms, want)
		}
	}
}

func stampedBy(t testing.TB, v *view.View, tr triple.Triple) (trie.MachineID, bool) {
	t.Helper()
	r := v.Joint().Resolver()
	require.NoError(t, r.Resolve(keyOf(triple.SPO, tr)))
	return r.Sequencer()
}
