// Tests of WithoutMajority.

package agreement

import (
	"context"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
)

// Each of two voters finds in its log the view that is agreed on, and the proposer its own.
func TestWithoutMajority(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		leader := c.grow(2)
		other := c.nodes[3-leader.cfg.ID]
		epochs := func(a *Agreement) (all []uint64) {
			views, err := a.WithoutMajority(3 - a.cfg.ID)
			require.NoError(t, err)
			for _, v := range views {
				all = append(all, v.Epoch)
			}
			return all
		}
		// The other voter learns by a later message that the change to two voters is agreed on.
		// Until then WithoutMajority must reject, because its own configuration may still fall.
		c.until("both have all entries", func() bool {
			views, err := other.WithoutMajority(leader.cfg.ID)
			return err == nil && len(views) == 1 && epoch(leader) == epoch(other)
		})
		// 1. A proposal that does not reach the other voter.
		at := epoch(leader)
		c.net.isolate(addressOf(other.cfg.ID))
		timed, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := leader.Propose(timed, after(leader.View())); err == nil {
			t.Fatal("a view is agreed on by one of two voters")
		}
		if all := epochs(leader); len(all) != 2 || all[0] != at || all[1] != at+1 {
			t.Errorf("the log of the proposer has epochs %v, not %d and %d", all, at, at+1)
		}
		if all := epochs(other); len(all) != 1 || all[0] != at {
			t.Errorf("the other log has epochs %v, not %d", all, at)
		}
		if _, err := leader.WithoutMajority(9); err == nil {
			t.Error("no error for a machine that is no voter")
		}
		c.net.heal(addressOf(other.cfg.ID))
		c.until("a leader", func() bool { return c.leader() != nil })
		// 2. A third server, that learns or votes.
		c.open(3)
		now := c.leader()
		require.NoError(t, now.SetMembers(soon(t), ids(1, 2), ids(3, 3)))
		if _, err := now.WithoutMajority(3 - now.cfg.ID); err == nil {
			t.Error("no error with a third server as learner")
		}
		require.NoError(t, now.SetMembers(soon(t), ids(1, 3), nil))
		if _, err := now.WithoutMajority(3 - now.cfg.ID); err == nil {
			t.Error("no error with a third server as voter")
		}
	})
}

// A change from three voters to two is not agreed on yet: the other two may still decide
// without this one, so it is an error.
func TestWithoutMajorityAmidAChange(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		leader := c.grow(3)
		var gone, left *Agreement
		for id, a := range c.nodes {
			if id != leader.cfg.ID && gone == nil {
				gone = a
			} else if id != leader.cfg.ID {
				left = a
			}
		}
		c.net.isolate(addressOf(leader.cfg.ID))
		timed, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		voters := ids(1, 3)
		delete(voters, gone.cfg.ID)
		_ = leader.SetMembers(timed, voters, nil)
		if now, _ := leader.Configuration(); len(now) != 2 {
			t.Fatalf("%d voters in the log", len(now))
		}
		if _, err := leader.WithoutMajority(left.cfg.ID); err == nil {
			t.Error("no error while the configuration is not agreed on")
		}
		c.net.heal(addressOf(leader.cfg.ID))
	})
}
