// Reads of acknowledged triples while a holder of another triple does not answer.

package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

// A write that waits for one of its holders keeps no reader waiting, whether the holder is cut off from the
// sequencer, has crashed, or has a full disk: its own triple is read as it was before.
func TestOpenBatchKeepsNoReader(t *testing.T) {
	for _, test := range []struct {
		name   string
		strike func(w *world, sequencer, holder *machine)
	}{
		{"the holder is cut off from the sequencer", func(w *world, sequencer, holder *machine) { w.net.Cut(sequencer.name, holder.name) }},
		{"the holder has crashed", func(_ *world, _, holder *machine) { holder.kill() }},
		{"the disk of the holder is full", func(w *world, _, holder *machine) {
			holder.free(keptFree / 8)
			w.until("the holder has no room", func() bool { return holder.store.Room() == store.RoomForNone })
		}},
	} {
		for _, write := range []struct {
			name   string
			do, un writing
			adds   bool
		}{
			{"add", store.Add, store.Delete, true},
			{"delete", store.Delete, store.Add, false},
		} {
			t.Run(test.name+"/"+write.name, func(t *testing.T) {
				simulate(t, 5, func(t *testing.T, w *world) {
					w.form()
					w.spread()
					stuck, free, sequencer, holder := w.sameSequencer()
					holder.stop()
					holder.kept = keptFree
					holder.free(10 << 30)
					holder.run()
					w.settle()
					if !write.adds {
						w.mustAdd(sequencer, stuck)
					}
					its := w.ordersOf(stuck, holder)
					pending := w.waiting(sequencer, stuck, write.do, write.un, func() { test.strike(w, sequencer, holder) }, func() { holder.free(10 << 30) })
					// All that follows takes less than it takes to exclude the holder.
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					if _, err := store.Add(ctx, sequencer.node, []triple.Triple{free}); err != nil {
						t.Fatalf("add another triple: %v", err)
					}
					for _, m := range w.others(holder) {
						w.mustSee(m, free, true, nil)
						w.mustSee(m, stuck, !write.adds, its)
						if there, err := m.asks(free); err != nil || !there {
							t.Errorf("by SPARQL through %s: %t, %v", m.name, there, err)
						}
					}
					// An update depends on what it reads, so it waits.
					limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
					defer cancel()
					if _, err := store.Update(limited, sequencer.node, func(r store.Reader) (store.Steps, error) {
						for _, err := range r.Match(limited, looks(stuck)[0], store.ReadOptions{}) {
							return store.Steps{}, err
						}
						return store.Steps{}, nil
					}); err == nil {
						t.Error("an update has read around a write that waits")
					}
					w.net.Heal()
					if holder.node != nil {
						holder.free(10 << 30)
					}
					if err := <-pending; err != nil {
						t.Errorf("the write that waited: %v", err)
					}
					w.mustSee(sequencer, stuck, write.adds, nil)
				})
			})
		}
	}
}

// writing is store.Add or store.Delete.
type writing = func(context.Context, store.Writer, []triple.Triple) (store.Result, error)

// mustSee checks whether a triple is there in each order but some, as a machine finds it at once.
func (w *world) mustSee(m *machine, tr triple.Triple, want bool, without []int) {
	w.t.Helper()
	for i, p := range looks(tr) {
		if slices.Contains(without, i) {
			continue
		}
		if there, err := m.sees(tr, p); err != nil || there != want {
			w.t.Errorf("order %d through %s: %t, %v; want %t", i, m.name, there, err, want)
		}
	}
}

// ordersOf returns the orders in which a look at a triple reads a machine.
func (w *world) ordersOf(tr triple.Triple, m *machine) (orders []int) {
	w.t.Helper()
	for i := range looks(tr) {
		if slices.Contains(w.readersOf(tr, i), m) {
			orders = append(orders, i)
		}
	}
	return orders
}

// readersOf returns the machines that a look at a triple reads in an order.
func (w *world) readersOf(tr triple.Triple, order int) (all []*machine) {
	w.t.Helper()
	scan, err := looks(tr)[order].Scan(triple.Orders[order])
	if err != nil {
		w.t.Fatal(err)
	}
	base := w.up()[0].node.View().Base
	for segment := range base.Trie.Range(scan.Range.Lo, scan.Range.Hi) {
		all = append(all, w.machineOf(base.Placement.Owner(segment)))
	}
	return all
}

// waiting strikes a holder of a triple, and begins to write it by its sequencer, so that the write
// waits. If the news of a full disk is faster than the write, which is refused then, it heals the
// holder and tries again. unneeded is a write that changes nothing.
func (w *world) waiting(sequencer *machine, tr triple.Triple, write, unneeded writing, strike, heal func()) <-chan error {
	w.t.Helper()
	pending := make(chan error, 1)
	begin := func() {
		strike()
		go func() {
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
			defer cancel()
			_, err := write(ctx, sequencer.node, []triple.Triple{tr})
			pending <- err
		}()
	}
	begin()
	w.until("the write waits", func() bool {
		select {
		case err := <-pending:
			if !errors.Is(err, store.ErrDiskFull) {
				w.t.Fatalf("the write did not wait: %v", err)
			}
			heal()
			w.until("the sequencer knows that the disk has room", func() bool {
				_, err := unneeded(w.t.Context(), sequencer.node, []triple.Triple{tr})
				return err == nil
			})
			begin()
			return false
		default:
			return sequencer.pends(tr)
		}
	})
	return pending
}

// sameSequencer returns two triples with one sequencer, which is not the holder: the
// first has a version on the holder, the second has nothing there. While no two are placed so, it adds
// data, so that more segments are spread over the machines.
func (w *world) sameSequencer() (on, off triple.Triple, sequencer, holder *machine) {
	w.t.Helper()
	const step = 1500
	for from := 10_000; from < 10_000+10*step; from += step {
		if on, off, sequencer, holder = w.findSameSequencer(fresh()); holder != nil {
			return on, off, sequencer, holder
		}
		w.mustAdd(w.any(), numbered(from, from+step)...)
		time.Sleep(5 * time.Second) // of virtual time: what is split is moved
		w.settle()
	}
	w.t.Fatal("no two triples are placed so")
	return on, off, nil, nil
}

// findSameSequencer is sameSequencer of a list. The holder is nil if there are no two such triples.
func (w *world) findSameSequencer(list []triple.Triple) (on, off triple.Triple, sequencer, holder *machine) {
	w.t.Helper()
	of := func(tr triple.Triple) (all []*machine) {
		spo, _ := triple.AppendKey(nil, triple.SPO, tr)
		slots, err := w.up()[0].node.View().Base.Places(spo)
		require.NoError(w.t, err)
		for _, s := range slots {
			all = append(all, w.machineOf(s.Machine))
		}
		// Nor does it own what a look at the triple reads beside it.
		for i := range looks(tr) {
			all = append(all, w.readersOf(tr, i)...)
		}
		return all
	}
	leader := w.leader() // leases go on
	holders := make([][]*machine, len(list))
	for i, tr := range list {
		holders[i] = of(tr)
	}
	for i, a := range holders {
		for _, h := range a[1:3] {
			if h == leader || a[0] == leader || a[0] == h {
				continue
			}
			if j := slices.IndexFunc(holders, func(b []*machine) bool { return b[0] == a[0] && !slices.Contains(b, h) }); j >= 0 {
				return list[i], list[j], a[0], h
			}
		}
	}
	return on, off, nil, nil
}

// asks reports whether a triple is there as a machine answers by SPARQL, within a second.
func (m *machine) asks(tr triple.Triple) (bool, error) {
	ctx, cancel := context.WithTimeout(m.world.t.Context(), time.Second)
	defer cancel()
	e, err := engine.New(m.node, engine.Options{})
	if err != nil {
		return false, err
	}
	q, err := e.Prepare(ctx, "ASK { "+tr.Subject.String()+" "+tr.Predicate.String()+" "+tr.Object.String()+" }", engine.Params{})
	if err != nil {
		return false, err
	}
	answer, err := q.Run(ctx)
	if err != nil {
		return false, err
	}
	defer answer.Close()
	return answer.Boolean()
}
