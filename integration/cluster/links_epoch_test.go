// Epochs of the graph of links in a cluster.

package cluster

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/seed"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/triple"
)

// TestLinksEpochs reads the graph under epochs, by several readers all the time, while links
// and labels change, links are loaded, and machines die, join and are started again:
// whatever was read of one epoch is the same, and what there was.
func TestLinksEpochs(t *testing.T) {
	seed.Long(t)
	simulate(t, 5, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		f := newFrozen(web)
		f.work(5)
		ctx, cancel := context.WithCancel(t.Context())
		var readers sync.WaitGroup
		passes, failed := make([]int, 2), make([]int, 2)
		for i := range passes {
			random := rand.New(rand.NewPCG(w.seed, uint64(i)+77))
			readers.Go(func() {
				last, pause := uint64(0), time.Duration(0)
				for ctx.Err() == nil {
					epoch, err := f.pass(ctx, random)
					passes[i]++
					if err != nil {
						failed[i]++
					}
					if pause = min(2*pause, 4*time.Second); epoch != last { // where nothing changes it need not be looked
						pause = 20 * time.Millisecond
					}
					last = epoch
					time.Sleep(time.Duration(random.Int64N(int64(pause)))) // of virtual time
				}
			})
		}
		defer readers.Wait()
		defer cancel()
		f.work(10)

		victim := w.any()
		before, err := web.some().CurrentEpoch(t.Context(), 0)
		if err != nil {
			t.Error(err)
		}
		g := web.graphs[victim]
		delete(web.graphs, victim)
		f.changed() // nobody asks it any more
		victim.kill()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if now, err := web.some().CurrentEpoch(t.Context(), before); err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a machine is dead: epoch %d, %v; it was %d", now, err, before)
		}
		urls := slices.Sorted(maps.Keys(web.links))
		f.changing(func() { f.byOtherDoorsBetween(urls) })
		w.settle()
		f.work(5)
		if now, err := web.some().CurrentEpoch(t.Context(), before); err != nil || now == before {
			t.Errorf("without a machine: epoch %d, %v; it was %d", now, err, before)
		}

		w.add().run(w.up()[0])
		web.open()
		f.changed()
		f.work(5)
		w.settle()
		f.bulk()
		f.work(5)

		again := w.any()
		web.end(again)
		f.changed()
		again.stop()
		again.run()
		web.open()
		f.changed()
		w.settle()
		f.work(5)
		cancel()
		readers.Wait()
		t.Logf("%v passes, %v failed, %d compared with what there is, of %d epochs; %d reads were those of before", passes, failed, f.compared, len(f.seen), f.again)
		if f.compared < 10 || f.again < 50 || len(f.seen) < 5 {
			t.Error("too little was read")
		}
		f.stays()
	})
}

// TestLinksEpochOf: each single change gives another epoch, and none comes again.
func TestLinksEpochOf(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		web := newWeb(w)
		w.form()
		web.open()
		defer web.end()
		ctx := t.Context()
		const a, b, c = "http://a.example/", "http://b.example/", "http://c.example/"
		link := links.Link(links.DefaultPredicate, a, b)
		other := triple.Triple{Subject: link.Subject, Predicate: triple.NewIRI("http://e.x/other"), Object: link.Object}
		update := func(c links.Change) func() error {
			return func() error {
				result, err := web.some().Update(ctx, []links.Change{c})
				now, other := web.some().CurrentEpoch(ctx, 0)
				if result.Epoch != now {
					t.Errorf("the update tells epoch %d, and it is %d", result.Epoch, now)
				}
				return errors.Join(err, other)
			}
		}
		label := func(data []byte) func() error {
			return func() error { return store.Annotate(ctx, w.any().node, link, links.Application, data) }
		}
		seen := map[uint64]string{}
		last := uint64(0)
		for _, step := range []struct {
			what    string
			do      func() error
			changes bool
		}{
			{"nothing yet", func() error { return nil }, true},
			{"a link", update(links.Change{Source: a, Targets: []string{b}}), true},
			{"nothing", func() error { return nil }, false},
			{"a link that is there", update(links.Change{Source: a, Targets: []string{b}}), false},
			{"a label", label([]byte{1, 0, 0}), true},
			{"the same label", label([]byte{1, 0, 0}), true},
			{"no label", label(nil), true},
			{"another triple", func() error { _, err := store.Add(ctx, w.any().node, []triple.Triple{other}); return err }, false},
			{"a note on another triple", func() error { return store.Annotate(ctx, w.any().node, other, links.Application, []byte("x")) }, false},
			{"a list", update(links.Change{Kind: links.ReplaceLinks, Source: a, Targets: []string{c}}), true},
			{"no link", update(links.Change{Kind: links.DeleteLinks, Source: a, Targets: []string{c}}), true},
			{"a link as a triple", func() error { _, err := store.Add(ctx, w.any().node, []triple.Triple{link}); return err }, true},
			{"a bulk load", func() error {
				_, err := w.any().load(ctx, document(t, "one.nq", []triple.Triple{links.Link(links.DefaultPredicate, b, a)}, 0), false)
				return err
			}, true},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			w.settle()
			epoch, err := web.some().CurrentEpoch(ctx, 0)
			if err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			for _, m := range w.up() {
				for _, told := range []uint64{0, last, epoch} {
					if now, err := web.graphs[m].CurrentEpoch(ctx, told); err != nil || now != epoch {
						t.Errorf("%s: epoch %d for one machine, and %d, %v for another, told %d", step.what, epoch, now, err, told)
					}
				}
			}
			before, known := seen[epoch]
			if known == step.changes || !step.changes && epoch != last {
				t.Errorf("%s: the epoch was %d, and is %d, as after %q", step.what, last, epoch, before)
			}
			seen[epoch], last = step.what, epoch
		}
	})
}
