// Random faults on a cluster of processes.

package processes

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// TestTorture: up to two of five machines at a time are killed, stopped for a
// while or restarted, or all lose power, at random, while clients write and read.
func TestTorture(t *testing.T) {
	t.Parallel()
	c := form(t, 5)
	h := &history{}
	c.fill(h, 2000)
	random := newRandom(t)
	l := c.startLoad(h, random)
	end := time.Now().Add(torture(t, 5*time.Second))
	for round := 1; time.Now().Before(end) && !t.Failed(); round++ {
		l.goOn(5)
		l.mark()
		l.log(c.fault(random))
		c.whole(5)
		t.Logf("round %d: %d triples", round, h.size())
	}
	l.goOn(5)
	l.stop()
	c.mustHold(h)
}

// fault does something to some machines and undoes it; what is left is that the
// cluster becomes whole again.
func (c *cluster) fault(random *rand.Rand) (what string) {
	c.t.Helper()
	if random.IntN(8) == 0 {
		c.killAll()
		for _, m := range c.machines {
			m.start()
		}
		return "power loss"
	}
	order := random.Perm(len(c.machines))[:1+random.IntN(2)]
	for _, n := range order {
		switch m := c.machines[n]; random.IntN(3) {
		case 0:
			what += "a kill; "
			m.kill()
		case 1:
			what += "a stop; "
			m.stop()
		default:
			what += "a pause; "
			m.process.signal(c.t, syscall.SIGSTOP)
		}
	}
	pass(randomTime(random, 0, 2*failureTimeout))
	for _, n := range order {
		if m := c.machines[n]; m.runs() {
			m.process.signal(c.t, syscall.SIGCONT)
		} else {
			m.start()
		}
	}
	return what
}

func (h *history) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.entries)
}

func randomTime(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}
