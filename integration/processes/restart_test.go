// Restarts of processes, one by one and together.

package processes

import (
	"testing"
)

// TestRestart: a machine that is restarted before the others give it up is the
// member that it was, with its data.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := form(t, 3, patiently)
	h := &history{}
	c.fill(h, 2000)
	l := c.startLoad(h, newRandom(t))
	victim := c.machines[1]
	before := idOf(c.whole(3), victim.address)
	l.mark()
	victim.stop()
	victim.start()
	victim.ready()
	if after := idOf(c.whole(3), victim.address); after != before {
		t.Errorf("the machine was %s and is %s", before, after)
	}
	l.goOn(8)
	l.log("a quick restart")
	l.stop()
	c.mustHold(h)
}

// TestLateRestart: a machine that comes back when the others have given it up joins
// as a new one.
func TestLateRestart(t *testing.T) {
	t.Parallel()
	c := form(t, 3)
	h := &history{}
	c.fill(h, 2000)
	l := c.startLoad(h, newRandom(t))
	victim := c.machines[1]
	l.mark()
	victim.stop()
	c.whole(2)
	l.log("one of three ended")
	victim.start()
	victim.process.waitFor(t, `went on without this machine; its data is in (\S+),`)
	c.whole(3)
	l.goOn(8)
	l.stop()
	c.mustHold(h)
}

// TestRollingRestart: all machines are restarted one after the other.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	c := form(t, 3, patiently)
	h := &history{}
	c.fill(h, 2000)
	l := c.startLoad(h, newRandom(t))
	before := c.whole(3)
	for _, m := range c.machines {
		m.stop()
		m.start()
		m.ready()
		s := c.whole(3)
		if idOf(s, m.address) != idOf(before, m.address) {
			t.Errorf("machine %d is another one", m.number)
		}
		l.goOn(5)
	}
	l.log("a rolling restart")
	l.stop()
	c.mustHold(h)
}

// TestPowerLoss: all processes are killed at once and started again.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	c := form(t, 3, patiently)
	h := &history{}
	c.fill(h, 2000)
	l := c.startLoad(h, newRandom(t))
	before := c.whole(3)
	l.goOn(8)
	c.killAll()
	for _, m := range c.machines {
		m.start()
	}
	for _, m := range c.machines {
		m.ready()
	}
	s := c.whole(3)
	for _, m := range c.machines {
		if idOf(s, m.address) != idOf(before, m.address) {
			t.Errorf("machine %d is another one", m.number)
		}
	}
	l.goOn(8)
	l.log("power loss of all")
	l.stop()
	c.mustHold(h)
}
