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

// A write that waits for one of its holders keeps only readers of its own triple
// waiting, whether the holder is cut off from the sequencer, has crashed, or has a
// full disk.
func TestOpenBatchKeepsNoOtherReader(t *testing.T) {
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
		t.Run(test.name, func(t *testing.T) {
			simulate(t, 5, func(t *testing.T, w *world) {
				w.form()
				w.spread()
				stuck, free, sequencer, holder := w.sameSequencer(fresh())
				holder.stop()
				holder.kept = keptFree
				holder.free(10 << 30)
				holder.run()
				w.settle()
				pending := w.waiting(sequencer, stuck, func() { test.strike(w, sequencer, holder) }, func() { holder.free(10 << 30) })
				// All that follows takes less than it takes to exclude the holder.
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := store.Add(ctx, sequencer.node, []triple.Triple{free}); err != nil {
					t.Fatalf("add another triple: %v", err)
				}
				for _, m := range w.others(holder) {
					for i, p := range looks(free) {
						if there, err := m.sees(free, p); err != nil || !there {
							t.Errorf("order %d through %s: %t, %v", i, m.name, there, err)
						}
					}
					if there, err := m.asks(free); err != nil || !there {
						t.Errorf("by SPARQL through %s: %t, %v", m.name, there, err)
					}
				}
				if _, err := sequencer.sees(stuck, looks(stuck)[0]); err == nil {
					t.Error("a write that waits is read")
				}
				w.net.Heal()
				if holder.node != nil {
					holder.free(10 << 30)
				}
				if err := <-pending; err != nil {
					t.Errorf("the write that waited: %v", err)
				}
				for _, p := range looks(stuck) {
					if there, err := sequencer.sees(stuck, p); err != nil || !there {
						t.Errorf("what has waited: %t, %v", there, err)
					}
				}
			})
		})
	}
}

// waiting strikes a holder of a triple, and begins to add it by its sequencer, so that the write
// waits. If the news of a full disk is faster than the write, which is refused then, it heals the
// holder and tries again.
func (w *world) waiting(sequencer *machine, tr triple.Triple, strike, heal func()) (pending <-chan error) {
	w.t.Helper()
	strike()
	pending = sequencer.add(tr)
	w.until("the write waits", func() bool {
		select {
		case err := <-pending:
			if !errors.Is(err, store.ErrDiskFull) {
				w.t.Fatalf("the write did not wait: %v", err)
			}
			heal()
			w.until("the sequencer knows that the disk has room", func() bool {
				_, err := store.Delete(w.t.Context(), sequencer.node, []triple.Triple{tr})
				return err == nil
			})
			strike()
			pending = sequencer.add(tr)
			return false
		default:
			return sequencer.pends(tr)
		}
	})
	return pending
}

// sameSequencer returns two triples with one sequencer, which is not the holder: the
// first has a version on the holder, the second has nothing there.
func (w *world) sameSequencer(list []triple.Triple) (on, off triple.Triple, sequencer, holder *machine) {
	w.t.Helper()
	of := func(tr triple.Triple) (all []*machine) {
		spo, _ := triple.AppendKey(nil, triple.SPO, tr)
		slots, err := w.up()[0].node.View().Base.Places(spo)
		require.NoError(w.t, err)
		for _, s := range slots {
			all = append(all, w.machineOf(s.Machine))
		}
		// Nor does it own what a look at the triple reads beside it.
		base := w.up()[0].node.View().Base
		for i, p := range looks(tr) {
			scan, err := p.Scan(triple.Orders[i])
			require.NoError(w.t, err)
			for segment := range base.Trie.Range(scan.Range.Lo, scan.Range.Hi) {
				all = append(all, w.machineOf(base.Placement.Owner(segment)))
			}
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
	w.t.Fatal("no two triples are placed so")
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
