// Tests of changes of members.

package agreement

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

func TestMembersComeAndGo(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		c.open(4)
		c.open(5)
		expect := func(voters, learners map[trie.MachineID]string) {
			t.Helper()
			v, l := a.Configuration()
			if !maps.Equal(v, voters) || !maps.Equal(l, learners) {
				t.Fatalf("voters %v, learners %v; not %v, %v", v, l, voters, learners)
			}
		}
		set := func(voters, learners map[trie.MachineID]string) {
			t.Helper()
			require.NoError(t, a.SetMembers(soon(t), voters, learners))
			expect(voters, learners)
		}
		set(ids(1, 3), ids(4, 5))
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		c.until("learners follow", func() bool { return epoch(c.nodes[4]) == 2 && epoch(c.nodes[5]) == 2 })

		// A voter dies, a learner takes its vote.
		c.stop(3)
		c.until("the leader notes it", func() bool { return !a.answers(3) })
		voters := ids(1, 2)
		voters[4] = addressOf(4)
		learners := map[trie.MachineID]string{3: addressOf(3), 5: addressOf(5)}
		set(voters, learners)

		// It is removed, and another one loses its vote and then goes.
		set(map[trie.MachineID]string{1: addressOf(1), 4: addressOf(4), 5: addressOf(5)}, ids(2, 2))
		set(map[trie.MachineID]string{1: addressOf(1), 4: addressOf(4), 5: addressOf(5)}, nil)
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		c.until("voters have it", func() bool { return epoch(c.nodes[4]) == 3 && epoch(c.nodes[5]) == 3 })
		if epoch(c.nodes[2]) == 3 {
			t.Error("who was removed still hears of views")
		}

		// Who was removed does not get into the way of the others.
		term := a.Term()
		c.until("it is without a leader", func() bool { _, _, ok := c.nodes[2].Leader(); return !ok })
		if err := a.Verify(soon(t)); err != nil || a.Term() != term {
			t.Errorf("%v, term %d after %d", err, a.Term(), term)
		}

		// The leader does not remove itself.
		err := a.SetMembers(soon(t), ids(4, 5), nil)
		if !errors.Is(err, ErrNotLeader) {
			t.Fatal(err)
		}
		c.until("another leads", func() bool { return c.nodes[4].IsLeader() || c.nodes[5].IsLeader() })
		l := c.nodes[4]
		if !l.IsLeader() {
			l = c.nodes[5]
		}
		require.NoError(t, l.SetMembers(soon(t), ids(4, 5), nil))
		require.NoError(t, l.Propose(soon(t), after(l.View())))
	})
}

func TestAddressOfAMemberChanges(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		c.stop(3)
		cfg := c.config(3)
		cfg.Address = "elsewhere:1"
		cfg.Listener, cfg.Dial = c.net.listen(cfg.Address), c.net.dialer(cfg.Address)
		moved, err := Open(cfg)
		require.NoError(t, err)
		c.nodes[3] = moved
		voters := ids(1, 3)
		voters[3] = cfg.Address
		require.NoError(t, a.SetMembers(soon(t), voters, nil))
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		c.until("it follows at its new address", func() bool { return epoch(moved) == 2 })
	})
}

func TestNoVoteForWhoDoesNotAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(1)
		require.NoError(t, a.SetMembers(soon(t), ids(1, 1), ids(2, 2)))
		c.until("the leader notes it", func() bool { return !a.answers(2) })
		if err := a.SetMembers(soon(t), ids(1, 2), nil); err == nil {
			t.Fatal("node 2 got a vote")
		}
		require.NoError(t, a.Propose(soon(t), after(a.View())))
		c.open(2)
		c.until("it answers", func() bool { return a.answers(2) })
		require.NoError(t, a.SetMembers(soon(t), ids(1, 2), nil))
	})
}

func TestChooseVoters(t *testing.T) {
	members := func(up int, down ...trie.MachineID) (all []Candidate) {
		for id := trie.MachineID(1); int(id) <= up; id++ {
			all = append(all, Candidate{ID: id, Up: !slices.Contains(down, id)})
		}
		return all
	}
	without := func(all []Candidate, id trie.MachineID) []Candidate {
		return slices.DeleteFunc(all, func(c Candidate) bool { return c.ID == id })
	}
	type list = []trie.MachineID
	for _, test := range []struct {
		what    string
		members []Candidate
		current list
		want    list
	}{
		{"the first", members(1), list{1}, list{1}},
		{"two: on two disks", members(2), list{1}, list{1, 2}},
		{"three", members(3), list{1, 2}, list{1, 2, 3}},
		{"four: three vote", members(4), list{1, 2, 3}, list{1, 2, 3}},
		{"five", members(5), list{1, 2, 3}, list{1, 2, 3, 4, 5}},
		{"nine: five vote", members(9), list{2, 4, 6}, list{1, 2, 3, 4, 6}},
		{"who votes goes on", members(9), list{5, 6, 7, 8, 9}, list{5, 6, 7, 8, 9}},
		{"a learner for the dead", members(9, 7), list{5, 6, 7, 8, 9}, list{1, 5, 6, 8, 9}},
		{"of four", members(4, 1), list{1, 2, 3}, list{2, 3, 4}},
		{"the dead keeps its vote where none is up", members(3, 2), list{1, 2, 3}, list{1, 2, 3}},
		{"two dead of five", members(5, 1, 2), list{1, 2, 3, 4, 5}, list{1, 2, 3, 4, 5}},
		{"one of them is replaced", without(members(7, 1, 2, 7), 3), list{1, 2, 4, 5, 6}, list{1, 2, 4, 5, 6}},
		{"an excluded one: an odd number is left, the leader among them", without(members(5), 5), list{1, 2, 3, 4, 5}, list{1, 2, 4}},
		{"an excluded one of three", without(members(3), 3), list{1, 2, 3}, list{1, 2}},
		{"a dead newcomer gets none", members(3, 3), list{1, 2}, list{1, 2}},
	} {
		if got := ChooseVoters(test.members, test.current, 4, 5); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, not %v", test.what, got, test.want)
		}
	}
}

// TestOrderOfChanges walks from one set of servers to another by nextChange.
func TestOrderOfChanges(t *testing.T) {
	have := map[trie.MachineID]server{1: {"a", true}, 2: {"b", true}, 3: {"c", true}, 4: {"d", false}, 6: {"f", true}}
	want := map[trie.MachineID]server{2: {"b", true}, 3: {"c", false}, 4: {"D", true}, 5: {"e", true}}
	silent := func(id trie.MachineID) bool { return id != 6 }
	var got []string
	for {
		c, ok := nextChange(have, want, 1, silent)
		if !ok {
			break
		}
		got = append(got, fmt.Sprintf("%d:%d", c.kind, c.id))
		if c.kind == remove || c.kind == removeSilent || c.kind == resign {
			delete(have, c.id)
		} else {
			have[c.id] = c.to
		}
	}
	wanted := []string{
		fmt.Sprintf("%d:5", addLearner), fmt.Sprintf("%d:4", readdress), fmt.Sprintf("%d:6", removeSilent),
		fmt.Sprintf("%d:4", promote), fmt.Sprintf("%d:5", promote), fmt.Sprintf("%d:3", demote), fmt.Sprintf("%d:1", resign),
	}
	if !slices.Equal(got, wanted) {
		t.Errorf("%v, not %v", got, wanted)
	}
	if !maps.Equal(have, want) {
		t.Errorf("it ends at %v", have)
	}
}
