// Tests of agreement among several nodes.

package agreement

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

func TestOneNodeIsSoonALeader(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.open(1)
		if has, err := a.HasState(); err != nil || has {
			t.Fatalf("a new node has state: %v, %v", has, err)
		}
		if a.View() != nil || a.IsLeader() {
			t.Fatal("a new node has a view, or leads")
		}
		if err := a.Propose(soon(t), newView(t, 1)); !errors.Is(err, ErrNotLeader) {
			t.Fatalf("Propose on a new node: %v", err)
		}
		if err := a.Verify(soon(t)); !errors.Is(err, ErrNotLeader) {
			t.Fatalf("Verify on a new node: %v", err)
		}
		start := time.Now()
		require.NoError(t, a.Bootstrap(soon(t), newView(t, 1)))
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("it took %s", took)
		}
		if has, err := a.HasState(); err != nil || !has {
			t.Errorf("it has no state: %v", err)
		}
		if epoch(a) != 1 || a.View().ClusterID != "c1" {
			t.Errorf("view %+v", a.View())
		}
		if id, address, ok := a.Leader(); !ok || id != 1 || address != addressOf(1) {
			t.Errorf("leader %s %s %v", id, address, ok)
		}
		if err := a.Bootstrap(soon(t), newView(t, 1)); !errors.Is(err, ErrConflict) {
			t.Errorf("a second Bootstrap: %v", err)
		}
	})
}

func TestProposeIsFollowedByAll(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		changed := c.nodes[3].Changed()
		next := after(a.View())
		require.NoError(t, a.Propose(soon(t), next))
		if epoch(a) != 2 {
			t.Errorf("the leader's view has epoch %d when Propose returns", epoch(a))
		}
		c.until("all have epoch 2", func() bool { return epoch(c.nodes[2]) == 2 && epoch(c.nodes[3]) == 2 })
		select {
		case <-changed:
		default:
			t.Error("Changed was not closed")
		}
		if err := a.Propose(soon(t), next); !errors.Is(err, ErrConflict) {
			t.Errorf("the same view again: %v", err)
		}
		other := after(a.View())
		other.Generation++
		if err := a.Propose(soon(t), other); !errors.Is(err, ErrConflict) {
			t.Errorf("another generation: %v", err)
		}
		other = after(a.View())
		other.ClusterID = "c2"
		if err := a.Propose(soon(t), other); !errors.Is(err, ErrConflict) {
			t.Errorf("another cluster: %v", err)
		}
		if err := c.nodes[2].Propose(soon(t), after(a.View())); !errors.Is(err, ErrNotLeader) {
			t.Errorf("by a follower: %v", err)
		}
		if err := a.Propose(soon(t), after(after(a.View()))); !errors.Is(err, ErrConflict) {
			t.Errorf("an epoch left out: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := a.Propose(gone, after(a.View())); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnknown) {
			t.Errorf("with a context that is over: %v", err)
		}
		if s := a.Stats(); !s.Leader || s.Voters != 3 || s.Term == 0 || s.Committed == 0 || s.LastContact != 0 {
			t.Errorf("stats %+v", s)
		}
		if s := c.nodes[2].Stats(); s.Leader || s.LastContact < 0 || s.LastContact > time.Second {
			t.Errorf("stats of a follower %+v", s)
		}
	})
}

func TestLeaderIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		first := c.grow(3)
		term := first.Term()
		changed := first.LeadershipChanged()
		c.net.isolate(addressOf(1))
		// The isolated one does not know yet: it leads no more.
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := first.Propose(ctx, after(first.View())); !errors.Is(err, ErrUnknown) {
			t.Errorf("Propose without a majority: %v", err)
		}
		<-changed
		c.until("it steps down", func() bool { return !first.IsLeader() })
		if err := first.Verify(soon(t)); !errors.Is(err, ErrNotLeader) {
			t.Errorf("Verify without a majority: %v", err)
		}
		var second *Agreement
		c.until("another leads", func() bool {
			for _, id := range []trie.MachineID{2, 3} {
				if c.nodes[id].IsLeader() && c.nodes[id].Verify(soon(t)) == nil {
					second = c.nodes[id]
				}
			}
			return second != nil
		})
		if second.Term() <= term {
			t.Errorf("term %d after %d", second.Term(), term)
		}
		for range 3 {
			require.NoError(t, second.Propose(soon(t), after(second.View())))
		}
		c.net.heal(addressOf(1))
		c.until("the one that came back has the views", func() bool { return epoch(first) == epoch(second) })
		if epoch(second) != 4 {
			t.Errorf("epoch %d: the view that was never agreed on counts", epoch(second))
		}
	})
}

// TestVerifyAsLeaderWithoutMajority asks while the leader still thinks that it is.
func TestVerifyAsLeaderWithoutMajority(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		synctest.Wait() // until no answer to a heartbeat is on its way: it would count
		c.net.isolate(addressOf(1))
		if !a.IsLeader() {
			t.Fatal("it knows already")
		}
		if err := a.Verify(soon(t)); err == nil {
			t.Error("Verify says that it leads")
		}
	})
}

func TestRestartFromDisk(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		for range 5 {
			require.NoError(t, a.Propose(soon(t), after(a.View())))
		}
		for id := range ids(1, 3) {
			c.stop(id)
		}
		for id := range ids(1, 3) {
			c.open(id)
		}
		if l := c.leader(); epoch(l) != 6 {
			t.Errorf("after a restart of all: epoch %d", epoch(l))
		}
		voters, learners := c.leader().Configuration()
		if len(voters) != 3 || len(learners) != 0 {
			t.Errorf("voters %v, learners %v", voters, learners)
		}
		c.until("all have the view", func() bool {
			return epoch(c.nodes[1]) == 6 && epoch(c.nodes[2]) == 6 && epoch(c.nodes[3]) == 6
		})
	})
}

func TestTransferLeadership(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		if err := c.nodes[2].TransferLeadership(soon(t)); !errors.Is(err, ErrNotLeader) {
			t.Errorf("by a follower: %v", err)
		}
		require.NoError(t, a.TransferLeadership(soon(t)))
		c.until("another leads", func() bool { return c.nodes[2].IsLeader() || c.nodes[3].IsLeader() })
	})
}

// Who is silent leads no more, though the others reach it, and is not elected until it
// speaks.
func TestSilence(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		a.Silence(true)
		c.until("another leads", func() bool { return c.nodes[2].IsLeader() || c.nodes[3].IsLeader() })
		c.until("it follows", func() bool { return !a.IsLeader() })
		l := c.leader()
		require.NoError(t, l.Propose(soon(t), after(l.View())))
		c.until("it has the view", func() bool { return epoch(a) == epoch(l) })
		for id := range ids(2, 3) { // alone it would stand for election
			c.net.isolate(addressOf(id))
		}
		term := a.Term()
		time.Sleep(10 * time.Second) // of virtual time
		if a.Term() != term || a.IsLeader() {
			t.Error("it stands for election")
		}
		a.Silence(false)
		for id := range ids(2, 3) {
			c.net.heal(addressOf(id))
		}
		if err := c.leader().Propose(soon(t), after(c.leader().View())); err != nil {
			t.Error(err)
		}
	})
}

func TestClosedAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(1)
		require.NoError(t, a.Close())
		if a.IsLeader() {
			t.Error("it leads")
		}
		if err := a.Propose(soon(t), after(a.View())); err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("Propose: %v", err)
		}
		if err := a.SetMembers(soon(t), ids(1, 2), nil); err == nil || errors.Is(err, ErrUnknown) {
			t.Errorf("SetMembers: %v", err)
		}
		if err := a.TransferLeadership(soon(t)); !errors.Is(err, ErrNotLeader) {
			t.Errorf("TransferLeadership: %v", err)
		}
	})
}
