// Joining, leaving, spares and removed machines.

package cluster

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/trie"
)

// A machine that others do not reach at the address that it gives is no member, which
// every write would wait for, and a machine that is to join itself alone is told.
func TestJoinUnreached(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		first, second, late := w.machines[0], w.machines[1], w.machines[2]
		first.run()
		for _, address := range []string{"nobody:7000", second.address()} {
			late.advertise = address
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			if err := late.tryRun(ctx, first); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a machine joins that says it is at %s: %v", address, err)
			}
			cancel()
			if v := first.node.View(); second.node == nil && v != nil || v != nil && len(v.Members) != 2 {
				t.Errorf("the view is %v", v)
			}
			if _, err := first.node.Add(t.Context(), numbered(0, 10)); err != nil {
				t.Error(err)
			}
			if second.node == nil { // once with one that is alone, then with a cluster
				second.run(first)
				w.until("the second is a member", func() bool { return len(first.node.View().Members) == 2 })
			}
		}
		for _, address := range []string{first.address(), ""} {
			late.advertise = address
			join := first
			if address == "" {
				join = late
			}
			if err := late.tryRun(t.Context(), join); err == nil || errors.Is(err, cluster.ErrWrongCluster) {
				t.Errorf("a machine that joins itself alone: %v", err)
			}
		}
		late.run(second, late)
		w.settle()
	})
}

// Who cannot be a member is told why, and the cluster goes on.
func TestJoinRefused(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		first, full, other, late, closed := w.machines[0], w.machines[1], w.machines[2], w.machines[3], w.machines[4]
		first.run()
		full.run()
		if _, err := full.node.Add(t.Context(), numbered(0, 10)); err != nil {
			t.Fatal(err)
		}
		full.stop()
		if err := full.tryRun(t.Context(), first); !errors.Is(err, cluster.ErrNotEmpty) {
			t.Errorf("a machine with data joins: %v", err)
		}
		other.cluster = "another"
		if err := other.tryRun(t.Context(), first); !errors.Is(err, cluster.ErrWrongCluster) {
			t.Errorf("a machine of another cluster joins: %v", err)
		}
		if first.node.View() != nil {
			t.Error("a machine that nobody could join is not alone any more")
		}
		closed.closed = true
		closed.run()
		if err := late.tryRun(t.Context(), closed); !errors.Is(err, cluster.ErrWrongCluster) {
			t.Errorf("a machine joins one that is closed: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		w.net.Cut(first.name, late.name)
		if err := late.tryRun(ctx, first); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a machine joins one that is not reached: %v", err)
		}
		w.net.Heal()
		late.run(first)
		closed.stop()
		w.settle()
	})
}

// A machine leaves while the cluster serves: what it has is elsewhere when it goes,
// and its process ends by itself or may be ended.
func TestLeave(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 2000)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		gone := w.machines[w.random.IntN(4)]
		id := gone.node.MachineID()
		if err := w.any().node.Leave(t.Context(), id+1); !errors.Is(err, store.ErrInvalid) && err == nil {
			t.Errorf("a stranger leaves: %v", err)
		}
		if err := w.any().node.Leave(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		stay := w.machines[0]
		if stay == gone {
			stay = w.machines[1]
		}
		w.until("the machine has left", func() bool { return stay.node.View().Find(id) == nil })
		gone.stop()
		w.settle()
		w.mustHave(setOf(all))
	})
}

// A spare holds nothing until a machine fails, and then what that one held.
func TestSpare(t *testing.T) {
	simulate(t, 4, func(t *testing.T, w *world) {
		spare := w.machines[3]
		spare.spare = true
		w.form()
		all := numbered(0, 2000)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.mustHave(setOf(all))
		if n := spare.store.Status().Triples; n != 0 {
			t.Errorf("the spare holds %d triples", n)
		}
		v := w.machines[0].node.View()
		lost := w.machines[w.random.IntN(3)]
		id := lost.node.MachineID()
		partitions := v.Base.Placement
		lost.kill()
		w.settle()
		w.mustHave(setOf(all))
		after := spare.node.View()
		if m := after.Find(spare.node.MachineID()); m.State != view.Up {
			t.Errorf("the spare is %s", m.State)
		}
		for i := range uint32(partitions.Partitions()) {
			was, is := partitions.PartitionOwner(i), after.Base.Placement.PartitionOwner(i)
			if was == id {
				was = spare.node.MachineID()
			}
			if was != is {
				t.Fatalf("partition %d went from %s to %s", i, was, is)
			}
		}
	})
}

// A machine is given up by the operator while it is down and not yet excluded, as
// where most are down at once.
func TestRemove(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 300)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		lost := w.machines[2]
		id := lost.node.MachineID()
		lost.kill()
		if err := w.machines[0].node.Remove(t.Context(), id); err != nil && !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		w.settle()
		w.mustHave(setOf(all))
		if err := w.machines[0].node.Remove(t.Context(), trie.MachineID(7)); err == nil {
			t.Error("a stranger is removed")
		}
	})
}

// Two of five machines die at once; service goes on, and nothing is lost.
func TestTwoOfFive(t *testing.T) {
	simulate(t, 5, func(t *testing.T, w *world) {
		w.form()
		all := numbered(0, 1500)
		if _, err := w.any().node.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		w.settle()
		w.mustHave(setOf(all))
		for _, i := range w.random.Perm(5)[:2] {
			w.machines[i].kill()
		}
		more := numbered(1500, 1600)
		w.until("adds go on", func() bool { // what was on its way to the dead is unknown, and may be added again
			_, err := w.any().node.Add(t.Context(), more)
			if err != nil && !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
			return err == nil
		})
		w.settle()
		if lost := w.any().node.View().Lost; len(lost) > 0 {
			t.Errorf("%d ranges are lost", len(lost))
		}
		w.mustHave(setOf(all, more))
	})
}
