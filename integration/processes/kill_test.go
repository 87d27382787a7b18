// Killed and paused processes.

package processes

import (
	"syscall"
	"testing"

	"github.com/trefoildb/trefoil/client"
)

// TestKill: one of three is killed while clients write and read. What was
// acknowledged is there, no read is short, and the others go on within seconds.
// When the machine comes back it takes its part again.
func TestKill(t *testing.T) {
	t.Parallel()
	c := form(t, 3)
	h := &history{}
	c.fill(h, 2000)
	random := newRandom(t)
	l := c.startLoad(h, random)
	l.goOn(8)
	victim := c.machines[random.IntN(3)]
	l.mark()
	victim.kill()
	l.goOn(8)
	c.whole(2)
	l.log("one of three killed")
	victim.start()
	victim.ready()
	c.whole(3)
	l.goOn(8)
	l.stop()
	c.mustHold(h)
}

// TestKillTwo: with five, two may be killed at once.
func TestKillTwo(t *testing.T) {
	t.Parallel()
	c := form(t, 5)
	h := &history{}
	c.fill(h, 2000)
	random := newRandom(t)
	l := c.startLoad(h, random)
	l.goOn(8)
	order := random.Perm(5)
	l.mark()
	c.machines[order[0]].process.signal(t, syscall.SIGKILL)
	c.machines[order[1]].process.signal(t, syscall.SIGKILL)
	c.machines[order[0]].process.wait(t)
	c.machines[order[1]].process.wait(t)
	l.goOn(8)
	c.whole(3)
	l.log("two of five killed at once")
	l.stop()
	c.mustHold(h)
}

// TestPause: a machine that is stopped for longer than its lease, and goes on,
// answers nothing old: it finds that the others have gone on without it, sets its
// data aside and joins as a new one.
func TestPause(t *testing.T) {
	t.Parallel()
	c := form(t, 3)
	h := &history{}
	c.fill(h, 2000)
	random := newRandom(t)
	l := c.startLoad(h, random)
	l.goOn(8)
	victim := c.machines[random.IntN(3)]
	before := idOf(c.whole(3), victim.address)
	victim.process.signal(t, syscall.SIGSTOP)
	l.mark()
	until(t, "the others go on without it", func() error {
		s, err := c.machines[victim.number%3].status()
		if err != nil {
			return err
		}
		return isWhole(s, 2)
	})
	l.goOn(8)
	l.log("one of three stopped")
	victim.process.signal(t, syscall.SIGCONT)
	victim.process.waitFor(t, `went on without this machine; its data is in (\S+),`)
	after := idOf(c.whole(3), victim.address)
	l.goOn(8)
	l.stop()
	if before == "" || after == "" || before == after {
		t.Errorf("the machine was %q and is %q", before, after)
	}
	c.mustHold(h)
}

// idOf returns the ID of the member at an address.
func idOf(s client.Status, address string) string {
	for _, m := range s.Members {
		if m.Address == address {
			return m.ID
		}
	}
	return ""
}
