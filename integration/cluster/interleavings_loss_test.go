// Interleavings of lost machines, rebuilds and moves.

package cluster

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/generation"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// The interleavings in which machines are lost, come and go.

// All survivors hold all triples, and lack orders all the same.
func lostOrdersAreRebuilt(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	lost := w.any()
	id, v := lost.node.MachineID(), lost.node.View()
	var orders [3]int
	for _, tr := range all {
		spo, _ := triple.AppendKey(nil, triple.SPO, tr)
		slots, err := v.Base.Places(spo)
		require.NoError(t, err)
		for o, s := range slots[:3] {
			if s.Machine == id {
				orders[o]++
			}
		}
	}
	if orders[0]+orders[1]+orders[2] == 0 {
		w.notATest("%s owns %v of each order", lost.name, orders)
	}
	lost.kill()
	w.settle()
	w.mustHave(setOf(all))
}

// With two of the three owners on one machine, the third machine has an extra; the
// operator takes it alone for a new generation, and it lacks nothing.
func threeCopies(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	_, o := w.owned(all, func(o owners) bool { return o.spo == o.pos && o.osp != o.spo })
	third := w.others(o.spo, o.osp)[0]
	for _, m := range w.up() {
		m.kill()
	}
	r := generation.Recovery{FS: third.disk, Dir: dataDir, NoneNewer: true, Network: w.net.Host(third.name), Logger: w.log}
	if _, err := generation.Recover(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	third.run()
	w.settle()
	if lost := third.node.View().Lost; len(lost) > 0 {
		t.Errorf("%d ranges are lost, although one machine has all", len(lost))
	}
	w.mustHave(setOf(all))
}

// Rows that a walk has read are deleted before they arrive.
func tombstonesOvertakeFills(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	w.any().kill()
	w.net.Delay(time.Millisecond, 300*time.Millisecond)
	through := w.any()
	w.until("copies are being made", func() bool { return through.node.View().Phase == recovery.Fill })
	var group sync.WaitGroup
	var mu sync.Mutex
	duringFill := 0
	for from := 0; from < 500; from += 10 {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for {
				epoch := through.node.View().Epoch
				if _, err := store.Delete(ctx, through.node, all[from:from+10]); err == nil {
					mu.Lock()
					if v := through.node.View(); v.Epoch == epoch && v.Phase == recovery.Fill {
						duringFill++
					}
					mu.Unlock()
					return
				}
				if ctx.Err() != nil {
					t.Error("deletes in vain")
					return
				}
			}
		})
	}
	group.Wait()
	if duringFill == 0 {
		w.notATest("no delete was acknowledged during the backfill")
	}
	w.settle()
	w.mustHave(setOf(all[500:]))
	w.net.Delay(0, 0)
	w.purge()
	w.mustHave(setOf(all[500:]))
}

// hold returns the leader and some other machines, of which the first two do not
// hear each other from now on: walks between them do not end.
func (w *world) hold() (leader *machine, rest []*machine) {
	leader = w.leader()
	rest = w.others(leader)
	w.random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	w.net.Cut(rest[0].name, rest[1].name)
	return leader, rest
}

// A machine joins, which moves slots; F dies, and then a second one, before the
// first is made up for.
func secondDiesDuringMoves(t *testing.T, w *world) {
	joiner := w.machines[5]
	w.machines = w.machines[:5]
	w.form()
	all := w.spread()
	w.machines = append(w.machines, joiner)
	leader, rest := w.hold()
	before := leader.node.View().Base.Placement
	joiner.run(leader)
	rest[2].kill()
	w.mustFill(leader)
	v := leader.node.View()
	moved, after := 0, v.Target.Placement
	for i := range uint32(before.Partitions()) {
		was, is := before.PartitionOwner(i), after.PartitionOwner(i)
		if was != is && v.Find(was) != nil && v.Find(is) != nil {
			moved++
		}
	}
	t.Logf("%d of %d partitions move between machines that live", moved, before.Partitions())
	rest[w.random.IntN(2)].kill()
	w.net.Heal()
	w.settle()
	if lost := leader.node.View().Lost; len(lost) > 0 {
		t.Errorf("%d ranges are lost", len(lost))
	}
	w.mustHave(setOf(all))
}

// It is neither waited for nor taken for one that has what it had.
func excludedReturnsInMidWalk(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	leader, rest := w.hold()
	back := rest[2]
	id := back.node.MachineID()
	back.kill()
	w.mustFill(leader)
	back.run(leader)
	back.mustBeExcluded()
	if v := leader.node.View(); v.Phase != recovery.Fill || v.Joint().BaseLive.Contains(id) || v.Find(id) != nil {
		t.Fatalf("in %s, the machine that was excluded counts: %+v", v.Phase, v.Members)
	}
	healed := w.background(func(ctx context.Context) {
		sleep(ctx, 3*time.Second)
		w.net.Heal()
	})
	defer healed.end()
	back.rejoin()
	if back.node.MachineID() == id {
		t.Error("it is the machine that it was")
	}
	w.settle()
	w.mustHave(setOf(all))
}

// The rows that the machine in the middle took over are not what it is asked for
// when it leaves, and those that it relieved have nothing from before.
func joinDeleteLeave(t *testing.T, w *world) {
	middle := w.machines[3]
	w.machines = w.machines[:3]
	w.form()
	all := w.spread()
	before := w.machines[0].node.View().Base
	w.machines = append(w.machines, middle)
	middle.run(w.machines[0])
	w.settle()
	w.checkDisks()
	moved := 0
	for _, tr := range all {
		if extrasMove(t, before, w.machines[0].node.View().Base, tr) {
			moved++
		}
	}
	if moved == 0 {
		w.notATest("no extra replica was relieved")
	}
	w.mustDelete(w.any(), all[:1000]...)
	w.checkDisks()
	if w.random.IntN(2) == 0 {
		w.purge()
	}
	id := middle.node.MachineID()
	require.NoError(t, w.machines[0].node.Leave(t.Context(), id))
	w.until("it has left", func() bool { return w.machines[0].node.View().Find(id) == nil })
	middle.stop()
	w.settle()
	w.mustHave(setOf(all[1000:]))
	w.purge()
	w.machines[2].kill()
	w.settle()
	w.mustHave(setOf(all[1000:]))
}

// extrasMove reports whether a machine that has an extra replica of a triple in one
// layout has nothing of it in another.
func extrasMove(t *testing.T, before, after recovery.Layout, tr triple.Triple) bool {
	spo, _ := triple.AppendKey(nil, triple.SPO, tr)
	was, err := before.Places(spo)
	require.NoError(t, err)
	is, err := after.Places(spo)
	require.NoError(t, err)
	has := map[trie.MachineID]bool{}
	for _, s := range is {
		has[s.Machine] = true
	}
	for _, s := range was {
		if s.Extra && !has[s.Machine] {
			return true
		}
	}
	return false
}

// A machine joins, and while rows are on their way to it another dies and clients
// write: who walks has a target that was not there when the walk began.
func movesBehindAWalk(t *testing.T, w *world) {
	joiner := w.machines[4]
	w.machines = w.machines[:4]
	w.form()
	all, more := w.spread(), fresh()[:100]
	w.machines = append(w.machines, joiner)
	leader := w.leader()
	rest := w.others(leader)
	w.net.Cut(rest[0].name, joiner.name)
	joiner.run(leader)
	w.mustFill(leader)
	added := leader.add(more[:50]...)
	deleted := leader.node.View().Epoch
	rest[1].kill()
	w.until("the loss is seen", func() bool { return leader.node.View().Epoch > deleted })
	w.net.Delay(time.Millisecond, 100*time.Millisecond)
	again := leader.add(more[50:]...)
	w.net.Heal()
	for i, done := range []<-chan error{added, again} {
		if err := <-done; err != nil {
			t.Logf("adds during the walk: %v", err)
			w.mustAdd(leader, more[50*i:50*i+50]...)
		}
	}
	w.mustDelete(leader, all[:50]...)
	w.net.Delay(0, 0)
	w.settle()
	w.mustHave(setOf(all[50:], more))
}

// If both owners of a plan are dead, the replicas and the other orders answer, because
// fewer machines are dead than there are copies. What is there is never left out.
func bothOwnersOfAPlanDead(t *testing.T, w *world) {
	w.form()
	all := w.spread()
	leader := w.leader()
	tr, o := w.owned(all, func(o owners) bool {
		return !apart(o) && !(o.spo == o.pos && o.pos == o.osp) && o.spo != leader && o.pos != leader && o.osp != leader
	})
	second := o.pos
	if second == o.spo {
		second = o.osp
	}
	rest := w.others(leader, o.spo, second)
	w.net.Cut(rest[0].name, rest[1].name)
	o.spo.kill()
	second.kill()
	w.mustFill(leader)
	for _, p := range looks(tr) {
		for deadline := time.Now().Add(5 * time.Second); ; sleep(t.Context(), 100*time.Millisecond) { // of virtual time
			there, err := leader.sees(tr, p)
			if err == nil && !there {
				t.Fatalf("%v is answered, and short", p)
			}
			if err == nil {
				break
			}
			if !isTryAgain(err) || time.Now().After(deadline) {
				t.Fatalf("%v is refused, although every triple has a live copy: %v", p, err)
			}
		}
	}
	if p := leader.node.View().Phase; p != recovery.Fill {
		t.Errorf("the copies were made before the patterns were answered: phase %s", p)
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		got, err := leader.contents(ctx)
		cancel()
		if err == nil && len(got) != len(all) {
			t.Fatalf("all that there is are %d triples of %d", len(got), len(all))
		}
	}
	w.net.Heal()
	w.settle()
	if lost := leader.node.View().Lost; len(lost) > 0 {
		t.Errorf("%d ranges are lost", len(lost))
	}
	w.mustHave(setOf(all))
}

// holdsRow reports whether a machine has the row of a triple in an order.
func (m *machine) holdsRow(o triple.Order, tr triple.Triple) bool {
	t := m.world.t
	t.Helper()
	key, _ := triple.AppendKey(nil, o, tr)
	sn, err := m.store.Snapshot()
	require.NoError(t, err)
	defer sn.Close()
	for _, err := range sn.Raw(t.Context(), store.TableStorage, triple.Range{Lo: key, Hi: append(key, 0)}) {
		require.NoError(t, err)
		return true
	}
	return false
}

// Adds are half done when a machine joins: a walk takes rows of theirs to the joiner,
// and their sequencer and the machine that walked die. What the joiner has is not a
// row that nobody else knows of, but an operation that goes on.
func walkTakesHalfDoneWrites(t *testing.T, w *world) {
	joiner := w.machines[5]
	w.machines = w.machines[:5]
	w.form()
	all := w.spread()
	leader := w.leader()
	for _, m := range w.others(leader) {
		w.net.CutOneWay(m.name, joiner.name)
	}
	w.machines = append(w.machines, joiner)
	joiner.run(leader)
	w.mustFill(leader)
	v := leader.node.View()
	half := map[owners][]triple.Triple{}
	var o owners
	for _, tr := range fresh() {
		spo, _ := triple.AppendKey(nil, triple.SPO, tr)
		was, err := v.Base.Places(spo)
		require.NoError(t, err)
		is, err := v.Target.Places(spo)
		require.NoError(t, err)
		with := owners{w.machineOf(was[0].Machine), w.machineOf(was[1].Machine), nil}
		led := slices.ContainsFunc(append(was, is...), func(s recovery.Place) bool { return s.Machine == leader.node.MachineID() })
		if led || with.spo == with.pos || w.machineOf(is[1].Machine) != joiner || is[0].Machine != was[0].Machine {
			continue
		}
		if half[with] = append(half[with], tr); len(half[with]) > len(half[o]) {
			o = with
		}
	}
	writes := half[o]
	if len(writes) == 0 {
		w.notATest("no triple moves so")
	}
	rest := w.others(leader, o.spo, o.pos)
	for _, m := range rest {
		w.net.CutOneWay(o.spo.name, m.name)
	}
	added := o.spo.add(writes...)
	w.until("the adds are half done", func() bool { return o.pos.pends(writes[0]) })
	epoch := leader.node.View().Epoch
	rest[0].kill() // and back: the walks begin anew, and only now do they reach the joiner
	for _, m := range w.others(o.spo, joiner) {
		w.net.Mend(m.name, joiner.name)
	}
	rest[0].run(leader)
	w.until("a walk takes a row to the joiner", func() bool { return joiner.holdsRow(triple.POS, writes[0]) })
	if leader.node.View().Epoch == epoch {
		w.notATest("the walk began before the adds")
	}
	o.spo.kill()
	o.pos.kill()
	w.net.Heal()
	if err := <-added; err == nil {
		t.Error("adds are acknowledged that two machines have")
	}
	w.settle()
	w.decided()
	got, err := joiner.contents(t.Context())
	require.NoError(t, err)
	for text := range setOf(all) {
		if !got[text] {
			t.Fatalf("%s is lost", text)
		}
	}
	w.mustHave(got)
	t.Logf("%d of the %d adds are there", len(got)-len(all), len(writes))
}
