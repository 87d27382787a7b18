// Annotations in a cluster.

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// checkNotes verifies in idle, when all have swept, that what is noted on a triple
// stands, the same, in all of its slots, beside a version, and nowhere else.
func (w *world) checkNotes() (notes int) {
	w.t.Helper()
	v := w.up()[0].node.View()
	type place struct {
		id    trie.MachineID
		extra bool
		order triple.Order
	}
	rows := map[string]map[place][]byte{} // by the row's key in SPO
	for _, m := range w.up() {
		sn, err := m.store.Snapshot()
		require.NoError(w.t, err)
		for _, table := range []byte{store.TableStorage, store.TableReplica} {
			for row, err := range sn.Raw(w.t.Context(), table, triple.Range{}) {
				require.NoError(w.t, err)
				if triple.IsTombstone(row.Value) {
					continue
				}
				version, suffix := row.Key, []byte(nil)
				if triple.IsAnnotation(row.Value) {
					version, _, _ = triple.CutAnnotation(row.Key)
					suffix = row.Key[len(version):]
				}
				spo, _, err := recovery.AppendVersion(nil, triple.SPO, version)
				require.NoError(w.t, err)
				key := string(append(spo, suffix...))
				if rows[key] == nil {
					rows[key] = map[place][]byte{}
				}
				rows[key][place{m.node.MachineID(), table == store.TableReplica, triple.Order(version[0])}] = bytes.Clone(row.Value)
			}
		}
		sn.Close()
	}
	for key, places := range rows {
		spo, _, ok := triple.CutAnnotation([]byte(key))
		if !ok {
			continue
		}
		notes++
		if rows[string(spo)] == nil {
			w.t.Fatalf("%q is noted, and its triple is not there", key)
		}
		slots, err := v.Base.Places(spo)
		require.NoError(w.t, err)
		first := places[place{slots[0].Machine, slots[0].Extra, slots[0].Order}]
		for _, s := range slots {
			if got := places[place{s.Machine, s.Extra, s.Order}]; got == nil || !bytes.Equal(got, first) {
				w.t.Fatalf("machine %s has %q as %v (extra %v) of %q, another has %q", s.Machine, got, s.Order, s.Extra, key, first)
			}
		}
		if len(places) != len(slots) {
			w.t.Fatalf("%d rows of %q, %d slots", len(places), key, len(slots))
		}
	}
	return notes
}

// mustNote has a machine note something on a triple.
func (w *world) mustNote(m *machine, tr triple.Triple, id, data string) {
	w.t.Helper()
	w.must("annotate", func(ctx context.Context) error { return store.Annotate(ctx, m.node, tr, id, []byte(data)) })
}

// mustBeNoted checks what is noted on a triple, "id=data" each, through all machines.
func (w *world) mustBeNoted(tr triple.Triple, want ...string) {
	w.t.Helper()
	for _, m := range w.up() {
		var got []string
		w.must("read annotations", func(ctx context.Context) (err error) {
			got, err = notesOf(ctx, m.node, tr)
			return err
		})
		if !slices.Equal(got, want) {
			w.t.Fatalf("%s: %q is noted on %s, want %q", m.name, got, tr, want)
		}
	}
}

func notesOf(ctx context.Context, n *cluster.Node, tr triple.Triple) (notes []string, err error) {
	sn, err := n.Reader()
	if err != nil {
		return nil, err
	}
	defer sn.Close()
	for a, err := range sn.Annotations(ctx, tr) {
		if err != nil {
			return nil, err
		}
		one, err := sn.Annotation(ctx, tr, a.ApplicationID)
		if err != nil {
			return nil, err
		}
		if one == nil || !bytes.Equal(one.Data, a.Data) {
			return nil, fmt.Errorf("annotation %q is %q alone, and %q among the others", a.ApplicationID, one.Bytes(), a.Data)
		}
		notes = append(notes, a.ApplicationID+"="+string(a.Data))
	}
	return notes, nil
}

// What was noted on a node alone, and in the cluster that it became, is there when a
// machine is lost, at once and after, on all that are left, and when one comes.
func TestAnnotationsAreRecovered(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		all := w.spread0()
		first := w.machines[0]
		first.run()
		w.mustAdd(first, all...)
		for i, tr := range all {
			if i%3 == 0 {
				w.mustNote(first, tr, "alone", fmt.Sprint(i))
			}
		}
		for _, m := range w.machines[1:3] {
			m.run(first)
		}
		w.settle()
		for i, tr := range all {
			if i%2 == 0 {
				w.mustNote(w.any(), tr, "together", fmt.Sprint(i))
			}
		}
		noted := func() {
			t.Helper()
			for i, tr := range all {
				var want []string
				if i%3 == 0 {
					want = append(want, fmt.Sprint("alone=", i))
				}
				if i%2 == 0 {
					want = append(want, fmt.Sprint("together=", i))
				}
				w.mustBeNoted(tr, want...)
			}
		}
		noted()
		lost := w.machines[w.random.IntN(3)]
		lost.kill()
		noted() // from other orders, while these are rebuilt
		w.settle()
		w.mustHave(setOf(all))
		w.checkDisks()
		if n, want := w.checkNotes(), (len(all)+2)/3+(len(all)+1)/2; n != want {
			t.Errorf("%d annotations, want %d", n, want)
		}
		w.machines[3].run(w.up()...)
		w.settle()
		noted()
		w.checkDisks()
		w.checkNotes()
		if report := w.mustCheck(); len(report.Problems) > 0 {
			t.Errorf("%+v", report.Problems)
		}
	})
}

// spread0 returns some triples.
func (w *world) spread0() (all []triple.Triple) {
	for i := range 60 {
		all = append(all, fact(i))
	}
	return all
}

// An annotation that is missing in one slot, or another there, is found and put right.
func TestScrubOfAnnotations(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := w.spread0()
		w.mustAdd(w.any(), all...)
		for _, tr := range all {
			w.mustNote(w.any(), tr, "a", "right")
		}
		w.stable()
		victim := w.any()
		damaged := 0
		victim.edit(func(db *pebble.DB) error {
			it, err := db.NewIter(&pebble.IterOptions{LowerBound: []byte{store.TableStorage}, UpperBound: []byte{store.TableReplica + 1}})
			if err != nil {
				return err
			}
			defer it.Close()
			for it.First(); it.Valid(); it.Next() {
				if triple.IsAnnotation(it.Value()) && w.random.IntN(10) == 0 {
					damaged++
					if err := db.Delete(bytes.Clone(it.Key()), pebble.Sync); err != nil {
						return err
					}
				}
			}
			return it.Error()
		})
		if damaged == 0 {
			w.notATest("nothing is damaged")
		}
		w.stable()
		found := w.mustScrub()
		if found.differences == 0 || found.repaired != found.differences || found.left != 0 {
			t.Errorf("%d damaged: %+v", damaged, found)
		}
		for _, tr := range all {
			w.mustBeNoted(tr, "a=right")
		}
		w.checkNotes()
		if found := w.mustScrub(); found != (scrubbed{}) {
			t.Errorf("after: %+v", found)
		}
	})
}

// Annotations that were removed leave tombstones, which purges take away.
func TestPurgeOfAnnotations(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := w.spread0()
		w.mustAdd(w.any(), all...)
		for _, tr := range all {
			w.mustNote(w.any(), tr, "a", "x")
			w.must("remove", func(ctx context.Context) error { return store.Annotate(ctx, w.any().node, tr, "a", nil) })
		}
		if n := w.tombstones(); n < 3*len(all) {
			t.Fatalf("%d tombstones", n)
		}
		w.stable()
		w.purge()
		if n := w.tombstones(); n != 0 {
			t.Errorf("%d tombstones are left", n)
		}
		w.mustHave(setOf(all))
		for _, tr := range all {
			w.mustBeNoted(tr)
		}
	})
}

// What one machine has of an annotation when its sequencer dies is enough for all to
// have it; and one that was on its way when the triple is deleted and added again
// does not come back.
func annotationHalfDone(t *testing.T, w *world) {
	w.form()
	w.spread()
	tr, o := w.owned(fresh(), apart)
	w.mustAdd(w.any(), tr)
	w.mustNote(w.any(), tr, "a", "old")
	w.stable()
	w.net.CutOneWay(o.spo.name, o.osp.name)
	done := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		done <- store.Annotate(ctx, o.pos.node, tr, "a", []byte("new"))
	}()
	w.until("one of the two has it", func() bool { return o.pos.pends(tr) })
	if o.osp.pends(tr) {
		t.Fatal("both have it")
	}
	o.spo.kill()
	w.net.Heal()
	if err := <-done; err != nil && !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the annotation: %v", err)
	}
	w.mustBeNoted(tr, "a=new")
	w.mustDelete(w.any(), tr)
	w.mustAdd(w.any(), tr)
	w.mustBeNoted(tr)
	w.settle()
	w.mustBeNoted(tr)
	w.checkDisks()
	if n := w.checkNotes(); n != 0 {
		t.Errorf("%d annotations are left", n)
	}
}

// While the order that sequences is being rebuilt, triples are annotated, deleted and
// added again all the same; what a walk has read before does not come back.
func annotationsOvertakeFills(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	for _, tr := range all[:40] {
		w.mustNote(w.any(), tr, "a", "old")
	}
	_, o := w.owned(all[:40], func(owners) bool { return true })
	o.spo.kill()
	for i, tr := range all[:40] {
		switch i % 4 {
		case 0:
			w.mustNote(w.any(), tr, "a", "new")
		case 1:
			w.mustDelete(w.any(), tr)
			w.mustAdd(w.any(), tr)
		case 2:
			w.must("remove", func(ctx context.Context) error { return store.Annotate(ctx, w.any().node, tr, "a", nil) })
			w.mustNote(w.any(), tr, "b", "more")
		}
	}
	noted := func() {
		t.Helper()
		for i, tr := range all[:40] {
			w.mustBeNoted(tr, [][]string{{"a=new"}, nil, {"b=more"}, {"a=old"}}[i%4]...)
		}
	}
	noted()
	w.settle()
	noted()
	w.mustHave(setOf(all))
	w.checkDisks()
	if n := w.checkNotes(); n != 30 {
		t.Errorf("%d annotations, want 30", n)
	}
}
