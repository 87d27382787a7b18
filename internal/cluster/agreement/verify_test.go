// What does not prove leadership: late answers, and answers of learners.

package agreement

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/trie"
)

// TestVerifyLateAnswers: an answer to a heartbeat from before an election may arrive after it. It
// must not prove the leadership.
func TestVerifyLateAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		// 1. Heartbeats are answered, and the answers are on their way.
		old := c.grow(3)
		release := c.net.hold(addressOf(1))
		time.Sleep(defaultTimeout / 5) // of virtual time: a heartbeat is due twice
		synctest.Wait()

		// 2. The others elect another leader, and the old one gets no message of it.
		c.net.disconnect(addressOf(2), addressOf(1))
		c.net.disconnect(addressOf(3), addressOf(1))
		go func() { _ = old.TransferLeadership(soon(t)) }() // its answer is held, too
		var next *Agreement
		c.until("another leads", func() bool {
			for _, id := range []trie.MachineID{2, 3} {
				if c.nodes[id].IsLeader() {
					next = c.nodes[id]
				}
			}
			return next != nil
		})
		if !old.IsLeader() || next.Term() <= old.Term() {
			t.Fatalf("the old leader has stepped down already, or leads term %d while another leads %d", old.Term(), next.Term())
		}

		// 3. The old one verifies, and only then the answers arrive.
		verified := make(chan error)
		go func() { verified <- old.Verify(soon(t)) }()
		synctest.Wait()
		release()
		if err := <-verified; !errors.Is(err, ErrNotLeader) {
			t.Errorf("Verify of a leader of term %d, while another leads term %d: %v", old.Term(), next.Term(), err)
		}
	})
}

// TestVerifyNeedsVoters cuts a leader off from the other voters, not from the learners.
func TestVerifyNeedsVoters(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		a := c.grow(3)
		c.open(4)
		c.open(5)
		require.NoError(t, a.SetMembers(soon(t), ids(1, 3), ids(4, 5)))
		require.NoError(t, a.Verify(soon(t)))
		for _, id := range []trie.MachineID{2, 3} {
			c.net.disconnect(addressOf(1), addressOf(id))
			c.net.disconnect(addressOf(id), addressOf(1))
		}
		if !a.IsLeader() {
			t.Fatal("the leader has stepped down already")
		}
		if err := a.Verify(soon(t)); !errors.Is(err, ErrNotLeader) {
			t.Errorf("Verify with the answers of learners alone: %v", err)
		}
	})
}
