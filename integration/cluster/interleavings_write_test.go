// Interleavings of writes, leases and scrubs.

package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// The interleavings of writes, reads, leases and upkeep.

// isTryAgain reports whether an error says that an answer may come later.
func isTryAgain(err error) bool {
	return errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// Nobody sees a write that has not reached all its machines.
func readsOfAHalfDoneWrite(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	tr, o := w.owned(fresh(), apart)
	w.net.CutOneWay(o.spo.name, o.pos.name)
	added := o.spo.add(tr)
	w.until("the write is half done", func() bool { return o.osp.pends(tr) })
	refused := atomic.Int64{}
	var group sync.WaitGroup
	for _, m := range w.up() {
		for _, p := range looks(tr) {
			group.Go(func() {
				there, err := m.sees(tr, p)
				if err != nil {
					refused.Add(1)
				}
				if there && o.spo.pends(tr) {
					t.Errorf("through %s, %v: a write that is half done", m.name, p)
				}
			})
		}
	}
	group.Wait()
	if refused.Load() == 0 {
		t.Error("nobody waits for the write")
	}
	if o.pos.pends(tr) {
		w.notATest("the write is done")
	}
	w.net.Heal()
	if err := <-added; err != nil {
		t.Logf("the add: %v", err)
	}
	w.settle()
	w.mustHave(setOf(all, []triple.Triple{tr}))
}

// What one machine has of it is enough for all to have it.
func sequencerDiesHalfDone(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	tr, o := w.owned(fresh(), apart)
	w.net.CutOneWay(o.spo.name, o.osp.name)
	added := o.pos.add(tr)
	w.until("one of the two has it", func() bool { return o.pos.pends(tr) })
	if o.osp.pends(tr) {
		t.Fatal("both have it")
	}
	o.spo.kill()
	w.net.Heal()
	if err := <-added; err != nil && !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the add: %v", err)
	}
	w.settle()
	w.mustHave(setOf(all, []triple.Triple{tr}))
}

// An add that only its sequencer has is pending on a machine that dies. Another
// add and a delete follow, and nothing is left of either when it returns.
func wakesWithAPendingAdd(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	tr, o := w.owned(fresh(), func(owners) bool { return true })
	sleeper := o.spo
	w.net.Isolate(sleeper.name)
	added := sleeper.add(tr)
	w.until("the add is pending", func() bool { return sleeper.pends(tr) })
	sleeper.kill()
	w.net.Heal()
	if err := <-added; err == nil {
		t.Error("an add is acknowledged that one machine has")
	}
	w.settle()
	w.mustAdd(w.any(), tr)
	w.mustDelete(w.any(), tr)
	w.checkDisks()
	w.purge()
	if n := w.tombstones(); n != 0 {
		t.Errorf("%d tombstones are left", n)
	}
	sleeper.run(w.up()...)
	sleeper.mustBeExcluded()
	sleeper.rejoin()
	w.settle()
	w.mustHave(setOf(all))
}

// answersAfter reads a triple through a machine that is being cut off, again and
// again, while others delete it. It must not be seen by who asks after the delete was
// acknowledged, and nothing at all is answered to who asks after the exclusion.
func (w *world) answersAfter(old *machine, tr triple.Triple, fault func()) {
	t, n := w.t, old.node
	id := n.MachineID()
	var deleted, excluded atomic.Bool
	var alone atomic.Int64
	var cut atomic.Bool
	reader := w.background(func(ctx context.Context) {
		for ctx.Err() == nil {
			wasDeleted, wasExcluded, wasCut := deleted.Load(), excluded.Load(), cut.Load()
			there, err := old.sees(tr, triple.Pattern{Subject: tr.Subject, Predicate: tr.Predicate, Object: tr.Object})
			switch {
			case err != nil:
			case wasDeleted && there:
				t.Error("a triple is seen after its delete was acknowledged")
			case wasExcluded:
				t.Error("a machine answers after it was excluded")
			case wasCut:
				alone.Add(1)
			}
			sleep(ctx, 5*time.Millisecond)
		}
	})
	sleep(t.Context(), time.Second)
	fault()
	cut.Store(true)
	watcher := w.background(func(ctx context.Context) {
		for ctx.Err() == nil {
			for _, m := range w.others(old) {
				if m.node.View().Find(id) == nil {
					excluded.Store(true)
				}
			}
			sleep(ctx, 5*time.Millisecond)
		}
	})
	w.mustDelete(w.others(old)[0], tr)
	deleted.Store(true)
	w.until("it is excluded", excluded.Load)
	sleep(t.Context(), 5*time.Second)
	watcher.end()
	reader.end()
	if alone.Load() == 0 {
		w.notATest("it did not answer on its lease")
	}
	w.net.Heal()
	old.mustBeExcluded()
	old.rejoin()
	w.settle()
}

// The old owner's clock is slow, so that its lease lives longer than it may.
func oldLeaseLives(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	old := w.others(w.leader())[0]
	old.stop()
	old.runAs(&clock{start: w.start, rate: 0.95})
	w.settle()
	tr, _ := w.owned(all, func(o owners) bool { return o.spo == old })
	w.answersAfter(old, tr, func() { w.net.Isolate(old.name) })
	left := setOf(all)
	delete(left, tr.String())
	w.mustHave(left)
}

// The new leader knows nothing of the leases of the old one.
func leaseOfADeadLeader(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	leader := w.leader()
	tr, o := w.owned(all, func(o owners) bool { return o.spo != leader })
	w.answersAfter(o.spo, tr, func() {
		w.net.Isolate(o.spo.name)
		leader.kill()
	})
	left := setOf(all)
	delete(left, tr.String())
	w.mustHave(left)
}

// A delivery reaches a holder after the view has changed, and the walk of that change
// has seen the rows. (That a change waits for an apply is in internal/cluster/writes: virtual
// time stands still there.)
func holderSleepsInItsApply(t *testing.T, w *world) {
	joiner := w.machines[3]
	w.machines = w.machines[:3]
	w.form()
	all := w.spread()
	w.machines = append(w.machines, joiner)
	leader := w.leader()
	tr, o := w.owned(fresh(), func(o owners) bool { return o.spo != leader && o.pos != leader && o.spo != o.pos })
	w.net.CutOneWay(o.spo.name, o.pos.name)
	added := o.spo.add(tr)
	w.until("the write is half done", func() bool { return leader.pends(tr) })
	epoch := o.spo.node.View().Epoch
	joiner.run(leader)
	w.until("the view has changed", func() bool { return o.spo.node.View().Epoch > epoch && o.pos.node.View().Epoch > epoch })
	if o.pos.pends(tr) || len(added) > 0 {
		w.notATest("the write is done")
	}
	w.net.Heal()
	if err := <-added; err != nil {
		t.Logf("the add: %v", err)
		w.mustAdd(leader, tr)
	}
	w.settle()
	w.mustHave(setOf(all, []triple.Triple{tr}))
}

// What the load brings is newer than a delete before its publication, and older
// than one after it.
func deleteThenPublication(t *testing.T, w *world) {
	w.form()
	all := quads(w.random, 2000)
	w.mustAdd(w.any(), all[:100]...)
	source := document(t, "data.nq", all, 0)
	loader, other := w.machines[0], w.machines[1]
	w.net.Delay(time.Millisecond, 8*time.Millisecond)
	done := make(chan error, 1)
	go func() {
		_, err := loader.load(t.Context(), source, false)
		done <- err
	}()
	w.awaitStage(1)
	w.mustDelete(other, all[:100]...)
	early := other.node.View()
	if len(early.Loads) == 0 || early.Loads[0].Epoch != 0 {
		w.notATest("the load was published before the delete was done")
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.mustHave(setOf(all))
	w.mustDelete(other, all[:50]...)
	w.mustHave(setOf(all[50:]))
}

// The client of an add hears nothing, and another one deletes.
func timedOutAddIsNotResent(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	tr, o := w.owned(fresh(), apart)
	w.mustAdd(o.pos, tr) // they are connected
	w.mustDelete(o.pos, tr)
	w.net.CutOneWay(o.spo.name, o.pos.name) // the answer, and the delivery
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := store.Add(ctx, o.pos.node, []triple.Triple{tr}); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the add: %v", err)
	}
	w.net.Heal()
	w.mustDelete(o.osp, tr)
	for _, m := range w.up() {
		m.stop()
		m.run()
		w.settle()
	}
	w.mustHave(setOf(all))
}

// Some machines have purged, others have not when they are compared.
func scrubMeetsAPurge(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	w.net.Delay(time.Millisecond, 50*time.Millisecond)
	for from := 0; from < 300; from += 100 {
		w.mustDelete(w.any(), all[from:from+100]...)
		var group sync.WaitGroup
		scrubber, purger := w.any(), w.any()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		for range 3 {
			group.Go(func() {
				if r, err := scrubber.node.Upkeep().Scrub(ctx); err == nil && (r.Differences != 0 || r.Repaired != 0) {
					t.Errorf("the scrub finds %+v", r)
				}
			})
			group.Go(func() { purger.node.Upkeep().Purge(ctx) })
		}
		group.Wait()
		cancel()
	}
	w.net.Delay(0, 0)
	w.purge()
	if s := w.mustScrub(); s != (scrubbed{}) {
		t.Errorf("after the purge: %+v", s)
	}
	w.mustHave(setOf(all[300:]))
}
