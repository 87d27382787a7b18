// Tests of reads during view changes, deaths and broken connections.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// soon is the idle timeout of tests that wait for an error.
const soon = 100 * time.Millisecond

// moved returns the view of an epoch with another layout, over the live machines. Their rows must
// be moved there first.
func (w *world) moved(rng *rand.Rand, epoch uint64, dead ...*machine) *view.View {
	var live []*machine
	for _, m := range w.machines {
		if !slices.Contains(dead, m) {
			live = append(live, m)
		}
	}
	old := w.layout
	w.layout = w.newLayout(rng, 30, live)
	v := w.viewOf(epoch)
	v.Members = slices.DeleteFunc(v.Members, func(m view.Member) bool {
		return slices.ContainsFunc(dead, func(d *machine) bool { return d.Self() == m.ID })
	})
	for _, m := range live {
		var rows []replica.FillRow
		for i, t := range w.triples {
			value := triple.AppendValue(nil, triple.Stamp{Epoch: 1, Sequence: uint64(i + 1)}, t)
			for _, o := range triple.Orders {
				key, _ := triple.AppendKey(nil, o, t)
				if len(key) > 0 && w.layout.Placement.Owner(w.layout.Trie.Lookup(key)) == m.Self() &&
					old.Placement.Owner(old.Trie.Lookup(key)) != m.Self() {
					rows = append(rows, replica.FillRow{Table: store.TableStorage, Key: key, Value: value})
				}
			}
		}
		m.fill(w, rows)
	}
	return w.made(v)
}

// through reads a whole order and does something in the middle.
func through(t *testing.T, w *world, sn *Snapshot, reverse bool, at int, do func()) ([]string, error) {
	t.Helper()
	n := 0
	return got(func(yield func(store.Row, error) bool) {
		for row, err := range sn.Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{Reverse: reverse}) {
			if n++; n == at {
				do()
			}
			if !yield(row, err) {
				return
			}
		}
	})
}

// prefix fails the test unless an answer that ended with an error is the
// beginning of the right one.
func prefix(t *testing.T, have, want []string) {
	t.Helper()
	if len(have) > len(want) {
		t.Fatalf("%d rows of %d", len(have), len(want))
	}
	same(t, "the beginning of an answer", have, want[:len(have)])
}

// all returns the keys of POS, in the order of a read.
func (w *world) all(reverse bool) []string {
	keys, err := got(w.truth().Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{Reverse: reverse}))
	if err != nil {
		w.Fatal(err)
	}
	return keys
}

// A scan goes on in a new view where rows have other owners.
func TestViewChange(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 4, Options{Ahead: 16 << 10})
	w.fill(rng, 30, students(3000))
	for i := range fewer(6) {
		reverse := i%2 == 1
		want := w.all(reverse)
		have, err := through(t, w, w.snapshot(rng.IntN(4)), reverse, 1+rng.IntN(len(want)), func() {
			w.adopt(w.moved(rng, w.machines[0].View().Epoch+1))
		})
		require.NoError(t, err)
		same(t, "a scan across views", have, want)
		ranges := []triple.Range{triple.OrderRange(triple.SPO), triple.OrderRange(triple.POS), triple.OrderRange(triple.OSP)}
		rows, err := hits(w.truth().Source().Lookup, ranges)
		require.NoError(t, err)
		n, change := 0, 1+rng.IntN(len(rows))
		all, err := hits(func(ctx context.Context, ranges []triple.Range, each func(int, []byte, []byte) error) error {
			return w.snapshot(0).Source().Lookup(ctx, ranges, func(i int, key, value []byte) error {
				if n++; n == change {
					w.adopt(w.moved(rng, w.machines[0].View().Epoch+1))
				}
				return each(i, key, value)
			})
		}, ranges)
		if err != nil || !slices.Equal(all, rows) {
			t.Fatalf("a look-up across views: %d rows, want %d, %v", len(all), len(rows), err)
		}
	}
}

// An owner dies, or cannot be reached, in the middle of a scan: it goes on as soon
// as there is a view without it, and ends with an error where there is none.
func TestOwnerDies(t *testing.T) {
	for _, silent := range []bool{false, true} {
		for _, excluded := range []bool{false, true} {
			rng := random(t)
			// It must go on because of the newer view, not because of a timeout.
			o := Options{Ahead: 16 << 10, IdleTimeout: 5 * time.Minute}
			if !excluded {
				o.IdleTimeout = soon
			}
			w := newWorld(t, 3, o)
			w.fill(rng, 30, students(3000))
			dead, want := w.machines[2], w.all(false)
			have, err := through(t, w, w.snapshot(0), false, 200, func() {
				if silent {
					w.net.Isolate("10.0.0.3")
				} else {
					w.net.Kill("10.0.0.3")
				}
				if excluded {
					v := w.moved(rng, 2, dead)
					w.machines[0].adopt(v)
					w.machines[1].adopt(v)
				}
			})
			w.net.Heal()
			switch {
			case excluded && err != nil:
				t.Fatal(err)
			case err == nil: // where the view does not change, it had what it needs of the machine
				same(t, "a scan past a dead owner", have, want)
			case !isError(err, store.ErrUnavailable):
				t.Fatalf("%v, %d of %d rows", err, len(have), len(want))
			default:
				prefix(t, have, want)
			}
		}
	}
}

// If a read waits for a silent machine, it goes on when there is a view without the machine.
func TestSilentOwner(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 2, Options{IdleTimeout: 5 * time.Minute})
	w.fill(rng, 1, students(100))
	owner, reader := w.machines[0], w.machines[1]
	if !w.reads(owner, triple.Range{}) {
		owner, reader = reader, owner
	}
	w.net.Isolate(fmt.Sprintf("10.0.0.%d", owner.index+1))
	reader.sends = make(chan struct{}, 100)
	sn := w.snapshot(reader.index)
	for _, read := range []func() (int, error){
		func() (int, error) {
			have, err := got(sn.Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{}))
			return len(have), err
		},
		func() (int, error) { n, err := sn.Count(ctx, triple.Pattern{}); return int(n), err },
	} {
		reader.adopt(w.viewOf(reader.View().Epoch + 1))
		layout, epoch := w.layout, reader.View().Epoch
		go func() {
			<-reader.sends
			reader.adopt(w.moved(rng, epoch+1, owner))
		}()
		if n, err := read(); err != nil || n != 100 {
			t.Errorf("%d rows, %v", n, err)
		}
		w.layout = layout
	}
	w.net.Heal()
}

// Connections that break in the middle of a frame cost nothing but time.
func TestBrokenConnections(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 3, Options{Ahead: 64 << 10})
	w.fill(rng, 30, students(4000))
	sn := w.snapshot(0)
	for i := range 10 {
		reverse := i%2 == 1
		w.machines[0].cut.Store(int64(1 + rng.IntN(30000)))
		have, err := through(t, w, sn, reverse, 1500, func() { w.machines[0].cut.Store(int64(1 + rng.IntN(30000))) })
		require.NoError(t, err)
		same(t, "a scan", have, w.all(reverse))
		w.machines[0].cut.Store(int64(1 + rng.IntN(1000)))
		if n, err := sn.Count(ctx, triple.Pattern{}); err != nil || n != 4000 {
			t.Fatalf("count: %d, %v", n, err)
		}
		w.machines[0].cut.Store(int64(1 + rng.IntN(30000)))
		checkLookup(t, w, sn, rng)
	}
}

// checkLookup compares a look-up of many ranges with that of the lone store.
func checkLookup(t *testing.T, w *world, sn *Snapshot, rng *rand.Rand) {
	t.Helper()
	ranges := subjects(w, rng, 300)
	want, err := hits(w.truth().Source().Lookup, ranges)
	require.NoError(t, err)
	have, err := hits(sn.Source().Lookup, ranges)
	require.NoError(t, err)
	if !slices.Equal(have, want) {
		t.Fatalf("look up: %d rows, want %d", len(have), len(want))
	}
}

type hit struct {
	index int
	key   string
}

func hits(lookup func(context.Context, []triple.Range, func(int, []byte, []byte) error) error, ranges []triple.Range) (all []hit, err error) {
	err = lookup(ctx, ranges, func(i int, key, _ []byte) error {
		all = append(all, hit{i, string(key)})
		return nil
	})
	return all, err
}

// subjects returns the ranges of SPO with the subject and predicate of some
// triples.
func subjects(w *world, rng *rand.Rand, n int) (ranges []triple.Range) {
	var some []triple.Triple
	for range n {
		t := w.triples[rng.IntN(len(w.triples))]
		some = append(some, triple.Triple{Subject: t.Subject, Predicate: t.Predicate})
	}
	slices.SortFunc(some, triple.SPO.Compare)
	for _, t := range slices.Compact(some) {
		r, _ := filterOf(triple.Pattern{Subject: t.Subject, Predicate: t.Predicate}).prefix(triple.SPO)
		ranges = append(ranges, r)
	}
	return ranges
}

// If a coordinator is behind, it waits for the owners' view.
func TestStaleEpoch(t *testing.T) {
	for _, follows := range []bool{true, false} {
		o := Options{}
		if !follows {
			o.IdleTimeout = soon
		}
		w := newWorld(t, 3, o)
		w.fill(random(t), 20, students(500))
		newer := w.viewOf(2)
		// The one that asks must have somebody to ask: one machine may own all of POS.
		asks := slices.IndexFunc(w.machines, func(m *machine) bool {
			return slices.ContainsFunc(w.triples, func(t triple.Triple) bool {
				key, _ := triple.AppendKey(nil, triple.POS, t)
				return w.layout.Placement.Owner(w.layout.Trie.Lookup(key)) != m.Self()
			})
		})
		for i, m := range w.machines {
			if i == asks {
				continue
			}
			m.adopt(newer)
			refused := func() {
				if follows && w.machines[asks].View().Epoch == 1 {
					w.machines[asks].adopt(newer)
				}
			}
			m.served.Store(&refused)
		}
		have, err := got(w.snapshot(asks).Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{}))
		if follows && err != nil || !follows && !isError(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		if follows {
			same(t, "a scan", have, w.all(false))
		} else {
			prefix(t, have, w.all(false))
		}
	}
}

// A machine without a lease answers nothing, also to itself.
func TestNoLease(t *testing.T) {
	w := newWorld(t, 2, Options{IdleTimeout: soon})
	w.fill(random(t), 10, students(200))
	for _, m := range w.machines {
		m.SetLease(errors.New("no lease"))
		var refusal *peer.Refusal
		if _, err := m.reads.hold(ctx, 1, nil, true); !errors.As(err, &refusal) || refusal.Code != peer.CodeLease {
			t.Fatalf("it reads for others: %v", err)
		}
		for i := range w.machines {
			needed := w.reads(m, triple.OrderRange(triple.POS))
			w.machines[i].reads.options.IdleTimeout = soon
			if !needed {
				w.machines[i].reads.options.IdleTimeout = time.Minute // it is to succeed, on a slow machine too
			}
			have, err := got(w.snapshot(i).Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{}))
			if needed != isError(err, store.ErrUnavailable) || !needed && err != nil {
				t.Fatalf("%d rows, %v; is it needed: %v", len(have), err, needed)
			}
			prefix(t, have, w.all(false))
			if _, err := w.snapshot(i).Count(ctx, triple.Pattern{Predicate: iri("p1")}); err != nil && !isError(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
		}
		m.SetLease(nil)
	}
}

// reads reports whether a machine is asked about a range.
func (w *world) reads(m *machine, r triple.Range) bool {
	return slices.ContainsFunc(pieces(m.View().Joint(), r), func(p piece) bool { return p.owner == m.Self() })
}

// frames keeps what an owner sends, and does something when the first frame comes.
type frames struct {
	kinds []byte
	do    func()
}

func (f *frames) Write(frame []byte) error {
	if f.kinds = append(f.kinds, frame[0]); len(f.kinds) == 1 {
		f.do()
	}
	return nil
}

func (f *frames) Flush() error { return nil }

// If an owner loses its lease, or its epoch, while it sends, it must not send an end.
func TestLostBeforeTheEnd(t *testing.T) {
	w := newWorld(t, 1, Options{})
	w.fill(random(t), 1, students(6000))
	m := w.machines[0]
	for code, do := range map[peer.Code]func(){
		peer.CodeLease: func() { m.SetLease(errors.New("no lease")) },
		peer.CodeEpoch: func() { m.SetLease(nil); m.adopt(w.viewOf(m.View().Epoch + 1)) },
	} {
		q := &request{epoch: m.View().Epoch, ranges: []triple.Range{triple.OrderRange(triple.SPO)}}
		h, err := m.reads.hold(ctx, q.epoch, q.ranges, true)
		require.NoError(t, err)
		sent := &frames{do: do}
		err = h.send(ctx, q, sent)
		var refusal *peer.Refusal
		if !errors.As(err, &refusal) || refusal.Code != code {
			t.Errorf("%s: %v", code, err)
		}
		if slices.Contains(sent.kinds, frameEnd) || slices.Contains(sent.kinds, frameMore) {
			t.Errorf("%s: an end all the same: %v", code, sent.kinds)
		}
		if _, _, err := h.count(ctx, q, func() error { return nil }); err == nil {
			t.Errorf("%s: a count", code)
		}
		if err := h.close(); err != nil {
			t.Error(err)
		}
		m.SetLease(nil)
	}
}

// An owner rejects ranges of others, and invalid requests.
func TestNotOwner(t *testing.T) {
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 20, students(200))
	var refusal *peer.Refusal
	all := []triple.Range{{}}
	for method, body := range map[string][]byte{
		MethodRows:   (&request{epoch: 1, ranges: all}).encode(),
		methodSurvey: (&survey{epoch: 1, questions: []question{{ranges: all}}}).encode(),
	} {
		for _, m := range w.machines {
			_, err := m.Call(ctx, w.machines[0].Self(), method, body)
			if !errors.As(err, &refusal) || refusal.Code != peer.CodeNotOwner {
				t.Error(method, err)
			}
			_, err = m.Call(ctx, w.machines[0].Self(), method, []byte("what?"))
			if !errors.As(err, &refusal) || refusal.Code != peer.CodeStranger {
				t.Error(method, err)
			}
		}
	}
}

// An answer that ends without saying so is none.
func TestShortAnswer(t *testing.T) {
	w := newWorld(t, 2, Options{IdleTimeout: soon})
	w.fill(random(t), 20, students(200))
	w.machines[1].short.Store(true)
	sn := w.snapshot(0)
	if have, err := got(sn.Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{})); w.reads(w.machines[1], triple.OrderRange(triple.POS)) && !isError(err, store.ErrUnavailable) {
		t.Errorf("%d rows, %v", len(have), err)
	}
	if n, err := sn.Source().Count(ctx, triple.Range{}); !isError(err, store.ErrUnavailable) {
		t.Errorf("count %d, %v", n, err)
	}
	if all, err := hits(sn.Source().Lookup, []triple.Range{{}}); !isError(err, store.ErrUnavailable) {
		t.Errorf("%d rows, %v", len(all), err)
	}
}

// Rows of an operation in flight are read when it is committed; others at once.
func TestUnsettled(t *testing.T) {
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 12, students(300))
	added := triple.Triple{Subject: iri("new"), Predicate: iri("p1"), Object: iri("o"), Graph: iri("g")}
	key, _ := triple.AppendKey(nil, triple.SPO, added)
	origin := replica.Origin{Sequencer: 77, Incarnation: 1, Batch: 5}
	waits, settled := make(chan []replica.Origin, 10), make(chan struct{})
	for _, m := range w.machines {
		m.settle = func(ctx context.Context, batches []replica.Origin) error {
			waits <- batches
			select {
			case <-settled:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := m.store.Deliver(ctx, &replica.Delivery{Origin: origin, Operations: []replica.Operation{
			{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 2, Sequence: 1}, Key: key},
		}}, w.machines[0].View().Joint()); err != nil {
			t.Fatal(err)
		}
	}
	sn := w.snapshot(0)
	if n, err := sn.Count(ctx, triple.Pattern{Subject: w.triples[0].Subject}); err != nil || n == 0 || len(waits) > 0 {
		t.Fatalf("%d rows, %v, %d waits", n, err, len(waits))
	}
	// Its predicate is read, but in another graph.
	other := triple.Pattern{Predicate: iri("p1"), DefaultGraph: true}
	if rows, err := got(sn.Match(ctx, other, store.ReadOptions{})); err != nil || len(waits) > 0 {
		t.Fatalf("%d rows, %v, %d waits", len(rows), err, len(waits))
	}
	if _, err := sn.Count(ctx, other); err != nil || len(waits) > 0 {
		t.Fatalf("%v, %d waits", err, len(waits))
	}
	has := make(chan error, 1)
	go func() {
		ok, err := sn.Has(ctx, added)
		if err == nil && !ok {
			err = errors.New("it is not there")
		}
		has <- err
	}()
	select {
	case batches := <-waits:
		if len(batches) != 1 || batches[0] != origin {
			t.Errorf("waits for %v", batches)
		}
	case err := <-has:
		t.Fatalf("it does not wait: %v", err)
	}
	close(settled)
	if err := <-has; err != nil {
		t.Error(err)
	}
}

// Rows that operations in flight have written are read as they were before, if the sequencer has not committed
// these, or if the tick of the snapshot is earlier: in each order, and in the extra replicas.
func TestReadsBeforeOpenBatch(t *testing.T) {
	w := newWorld(t, 3, Options{})
	w.fill(random(t), 12, students(300))
	added, gone := triple.Triple{Subject: iri("new"), Predicate: iri("p1"), Object: iri("o")}, w.triples[7]
	var operations []replica.Operation
	for i, tr := range []triple.Triple{added, gone} {
		key, _ := triple.AppendKey(nil, triple.SPO, tr)
		operations = append(operations, replica.Operation{Kind: store.OperationAdd + store.OperationKind(i), Stamp: triple.Stamp{Epoch: 2, Sequence: uint64(i + 1)}, Key: key})
	}
	open := true
	batch := replica.Origin{Sequencer: 77, Incarnation: 1, Batch: 5}
	for _, m := range w.machines {
		m.store.BeginEpoch(m.View().Epoch)
		m.open = func(batches []replica.Origin) []replica.Origin {
			if open {
				return batches
			}
			return nil
		}
		if err := m.store.Deliver(ctx, &replica.Delivery{Origin: batch, Operations: operations, Epoch: m.View().Epoch}, m.View().Joint()); err != nil {
			t.Fatal(err)
		}
	}
	check := func(wantAdded, wantGone, moment bool) {
		t.Helper()
		sn := w.snapshot(0)
		for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
			for want, tr := range map[*bool]triple.Triple{&wantAdded: added, &wantGone: gone} {
				key, _ := triple.AppendKey(nil, o, tr)
				r := triple.Range{Lo: key, Hi: append(bytes.Clone(key), 0)}
				n, err := sn.Source().Count(ctx, r)
				if err != nil || (n == 1) != *want {
					t.Errorf("%s of %v: %d rows, %v, want one: %t", o, tr, n, err, *want)
				}
				if found, err := hits(sn.Source().Lookup, []triple.Range{r}); err != nil || (len(found) == 1) != *want {
					t.Errorf("%s of %v: %d rows, %v, want one: %t", o, tr, len(found), err, *want)
				}
				all := 0
				for _, err := range sn.Match(ctx, triple.Pattern{Predicate: tr.Predicate, Object: tr.Object}, store.ReadOptions{}) {
					if all++; err != nil {
						t.Error(err)
					}
				}
				if n, err := sn.Count(ctx, triple.Pattern{Predicate: tr.Predicate, Object: tr.Object}); err != nil || int(n) != all {
					t.Errorf("%d rows, %v, counted %d", all, err, n)
				}
			}
		}
		if n, err := sn.Count(ctx, triple.Pattern{}); err != nil || n != 300 {
			t.Errorf("%d triples, %v", n, err)
		}
		if got := sn.OneMoment(); got != moment {
			t.Errorf("of one moment: %t, want %t", got, moment)
		}
	}
	check(false, true, false)
	open = false
	check(true, false, false)
	// The batch is committed at tick 5.
	epoch := w.machines[0].View().Epoch
	tick := func(n uint64) triple.Stamp { return triple.Stamp{Epoch: epoch, Sequence: n} }
	for _, m := range w.machines {
		m.store.RecordCommitted(batch, nil, nil, replica.CommitTicks{Last: tick(5), Batches: []replica.BatchTick{{Batch: 5, Tick: 5}}})
	}
	for _, c := range []struct {
		now           triple.Stamp
		added, moment bool
	}{{tick(4), false, true}, {tick(5), true, true}, {tick(6), true, true}, {triple.Stamp{Epoch: epoch + 1, Sequence: 4}, true, false}} {
		w.setNow(c.now)
		check(c.added, !c.added, c.moment)
	}
	// The machines have not kept the rows of tick 4: what is read from then on is the present.
	w.setNow(tick(4))
	for _, m := range w.machines {
		m.store.BeginEpoch(epoch + 1)
	}
	sn := w.snapshot(0)
	if n, err := sn.Count(ctx, triple.Pattern{}); err != nil || n != 300 || sn.OneMoment() {
		t.Errorf("%d triples, %v, of one moment: %t", n, err, sn.OneMoment())
	}
	if ok, err := sn.Has(ctx, added); err != nil || !ok {
		t.Errorf("%t, %v", ok, err)
	}
}

// If an operation is not committed in time, the read is refused.
func TestNeverSettled(t *testing.T) {
	w := newWorld(t, 1, Options{CommitTimeout: time.Millisecond, IdleTimeout: soon})
	w.fill(random(t), 2, students(20))
	m := w.machines[0]
	m.settle = func(ctx context.Context, _ []replica.Origin) error { <-ctx.Done(); return ctx.Err() }
	key, _ := triple.AppendKey(nil, triple.SPO, student(7000))
	if err := m.store.Deliver(ctx, &replica.Delivery{Origin: replica.Origin{Sequencer: 7, Incarnation: 1, Batch: 1}, Operations: []replica.Operation{
		{Kind: store.OperationAdd, Stamp: triple.Stamp{Epoch: 2, Sequence: 1}, Key: key},
	}}, m.View().Joint()); err != nil {
		t.Fatal(err)
	}
	sn := w.snapshot(0)
	if _, err := sn.Count(ctx, triple.Pattern{}); !isError(err, store.ErrUnavailable) {
		t.Error(err)
	}
	if _, exact, err := sn.Estimate(ctx, triple.Pattern{}); err != nil || exact {
		t.Errorf("exact %v, %v", exact, err)
	}
}

// loading returns the view of an epoch. The first loads are shown, and one more is ingested if
// ingest is true.
func (w *world) loading(epoch uint64, shown int, ingest bool) *view.View {
	v := w.viewOf(epoch)
	if ingest {
		v.Phase = recovery.Ingest
		shown++
	}
	for i := range shown {
		v.Loads = append(v.Loads, view.Load{Number: uint64(i + 1), ID: fmt.Sprint("load", i), Epoch: uint64(i + 1)})
	}
	v.NextLoad = uint64(shown + 1)
	return w.made(v)
}

// While tables of a load are taken in, reads wait.
func TestIngest(t *testing.T) {
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 10, students(200))
	w.adopt(w.loading(2, 1, true))
	done := make(chan error, 1)
	go func() {
		n, err := w.snapshot(0).Count(ctx, triple.Pattern{})
		if err == nil && n != 200 {
			err = errors.New("short")
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it does not wait: %v", err)
	default:
	}
	w.adopt(w.loading(3, 2, false))
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, m := range w.machines {
		m.adopt(w.loading(4, 2, true))
		q := &request{epoch: 4, ranges: []triple.Range{{}}}
		var refusal *peer.Refusal
		if _, err := m.reads.hold(ctx, 4, q.ranges, false); !errors.As(err, &refusal) || refusal.Code != peer.CodeUnavailable {
			t.Errorf("an owner that takes tables in: %v", err)
		}
	}
}

// away returns how many rows of an order, behind some, one machine but the first has
// at most.
func (w *world) away(o triple.Order, behind int) int {
	of := map[trie.MachineID]int{}
	keys, err := got(w.truth().Range(ctx, triple.Bounds{Order: o}, store.ReadOptions{}))
	if err != nil {
		w.Fatal(err)
	}
	for _, key := range keys[behind:] {
		of[w.layout.Placement.Owner(w.layout.Trie.Lookup([]byte(key)))]++
	}
	return max(of[w.machines[1].Self()], of[w.machines[2].Self()])
}

// A read in the middle of which a load is published does not go on with half of
// it; a count begins again.
func TestPublication(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 3, Options{Ahead: 16 << 10})
	const rows = 6000
	w.fill(rng, 30, students(rows))
	// The read must go on with another machine, because local and requested rows are of one
	// moment.
	for w.away(triple.POS, 500) < rows/3 || w.away(triple.SPO, 500) < rows/3 {
		w.adopt(w.moved(rng, 1))
	}
	sn, want := w.snapshot(0), w.all(false)
	have, err := through(t, w, sn, false, 500, func() { w.adopt(w.loading(3, 1, false)) })
	if !isError(err, errPublished) || !isError(err, store.ErrUnavailable) {
		t.Errorf("a scan: %d rows, %v", len(have), err)
	}
	prefix(t, have, want)
	have, err = through(t, w, sn, false, 500, func() { w.adopt(w.loading(4, 1, false)) })
	if err != nil {
		t.Errorf("a scan across views without a load: %v", err)
	}
	same(t, "a scan", have, want)
	n := 0
	err = sn.Source().Lookup(ctx, []triple.Range{triple.OrderRange(triple.SPO)}, func(int, []byte, []byte) error {
		if n++; n == 500 {
			w.adopt(w.loading(5, 2, false))
		}
		return nil
	})
	if !isError(err, errPublished) {
		t.Errorf("a look-up: %d rows, %v", n, err)
	}
	published := func() {
		if w.machines[0].View().Epoch == 5 {
			w.adopt(w.loading(6, 3, false))
		}
	}
	for _, m := range w.machines[1:] {
		m.served.Store(&published)
	}
	if n, err := sn.Count(ctx, triple.Pattern{}); err != nil || n != rows {
		t.Errorf("count: %d, %v", n, err)
	}
}

// A snapshot of an owner's store is not held for longer than allowed; the read
// goes on with another one.
func TestMaxScan(t *testing.T) {
	w := newWorld(t, 2, Options{MaxScan: 10 * time.Millisecond})
	w.fill(random(t), 6, students(fewer(15000)))
	for i := range w.machines {
		have, err := got(w.snapshot(i).Range(ctx, triple.Bounds{Order: triple.POS}, store.ReadOptions{}))
		require.NoError(t, err)
		same(t, "a scan", have, w.all(false))
	}
}

// Ranges with lost rows are not read, unless the caller requests the rest.
func TestLost(t *testing.T) {
	w := newWorld(t, 2, Options{})
	w.fill(random(t), 10, students(200))
	v := w.viewOf(2)
	p1, _ := filterOf(triple.Pattern{Predicate: iri("p1")}).prefix(triple.POS)
	v.Lost = []view.Lost{{Lo: p1.Lo, Hi: p1.Hi, Epoch: 2}}
	w.adopt(w.made(v))
	sn := w.snapshot(0)
	if _, err := got(sn.Match(ctx, triple.Pattern{Predicate: iri("p1")}, store.ReadOptions{})); !isError(err, store.ErrLost) {
		t.Error(err)
	}
	if _, err := sn.Count(ctx, triple.Pattern{Predicate: iri("p1")}); !isError(err, store.ErrLost) {
		t.Error(err)
	}
	if n, err := sn.Count(ctx, triple.Pattern{Predicate: iri("p2")}); err != nil || n != 50 {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := sn.IncludeLost().Count(ctx, triple.Pattern{Predicate: iri("p1")}); err != nil || n != 50 {
		t.Errorf("%d, %v", n, err)
	}
}

// A look-up is one message to each owner.
func TestLookupMessages(t *testing.T) {
	rng := random(t)
	w := newWorld(t, 3, Options{})
	w.fill(rng, 30, students(4000))
	ranges := subjects(w, rng, 3000)
	before := w.machines[0].asked.Load()
	all, err := hits(w.snapshot(0).Source().Lookup, ranges)
	if err != nil || len(all) < len(ranges) {
		t.Fatalf("%d rows, %v", len(all), err)
	}
	if n := w.machines[0].asked.Load() - before; n > 2 {
		t.Errorf("%d messages for %d ranges of two other owners", n, len(ranges))
	}
}
