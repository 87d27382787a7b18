// How many messages a leader sends, to voters and to learners.

package agreement

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/trie"
)

// withLearners makes a cluster of 3 voters, whose leader is 1, and learners 4 to last.
func (c *cluster) withLearners(last int) *Agreement {
	c.t.Helper()
	a := c.grow(3)
	for id := trie.MachineID(4); int(id) <= last; id++ {
		c.open(id)
	}
	if err := a.SetMembers(soon(c.t), ids(1, 3), ids(4, last)); err != nil {
		c.t.Fatal(err)
	}
	return a
}

// counted counts the writes of a connection.
type counted struct {
	net.Conn
	writes *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}

// A leader does not send more if there are more calls of Verify, and it sends less to
// learners than to voters while nothing is agreed on.
func TestFewMessages(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		// 1. Count the messages to one voter and one learner at rest.
		var toVoter, toLearner atomic.Int64
		c.dial = func(dial func(context.Context, string) (net.Conn, error)) func(context.Context, string) (net.Conn, error) {
			return func(ctx context.Context, to string) (net.Conn, error) {
				conn, err := dial(ctx, to)
				switch {
				case err == nil && to == addressOf(2):
					conn = counted{conn, &toVoter}
				case err == nil && to == addressOf(5):
					conn = counted{conn, &toLearner}
				}
				return conn, err
			}
		}
		a := c.withLearners(8)
		time.Sleep(time.Second) // of virtual time
		const seconds = 10
		toVoter.Store(0)
		toLearner.Store(0)
		time.Sleep(seconds * time.Second)
		voter, learner := toVoter.Load()/seconds, toLearner.Load()/seconds
		if learner > 20 || learner < 6 || voter < 2*learner {
			t.Errorf("a voter is sent %d messages a second, a learner %d", voter, learner)
		}
		// 2. Count those for many calls of Verify at the same time.
		toVoter.Store(0)
		var group sync.WaitGroup
		for range 1000 {
			group.Go(func() {
				time.Sleep(time.Millisecond)
				if err := a.Verify(soon(t)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := toVoter.Load(); n > 10 {
			t.Errorf("%d messages to a voter for 1000 calls of Verify at a time", n)
		}
	})
}

// A learner that gets few messages never loses its leader, and finds the next one after the
// leader is cut off.
func TestLearnerKnowsLeader(t *testing.T) {
	bubble(t, func(t *testing.T, c *cluster) {
		c.withLearners(5)
		time.Sleep(time.Second) // of virtual time
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if id, _, ok := c.nodes[5].Leader(); !ok || id != 1 {
				t.Fatalf("the learner has leader %s, %v", id, ok)
			}
		}
		c.net.isolate(addressOf(1))
		c.until("the learner has another leader", func() bool {
			id, _, ok := c.nodes[5].Leader()
			return ok && id != 1
		})
		c.net.heal(addressOf(1))
	})
}
