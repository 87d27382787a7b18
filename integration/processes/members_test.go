// Leaving, removed and spare machines.

package processes

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// killAll kills all machines as one power cut would.
func (c *cluster) killAll() {
	c.t.Helper()
	up := c.up()
	for _, m := range up {
		m.process.signal(c.t, syscall.SIGKILL)
	}
	for _, m := range up {
		m.process.wait(c.t)
	}
}

// TestLeave: a machine hands over what it has, and its process ends; be it the one
// that leads, too. Started again, it joins as a new one.
func TestLeave(t *testing.T) {
	t.Parallel()
	c := form(t, 4)
	h := &history{}
	c.fill(h, 3000)
	l := c.startLoad(h, newRandom(t))
	first, last := c.machines[0], c.machines[3]
	trefoil(t, "cluster", "leave", "--to", c.machines[1].url(), last.address).must(t, 0)
	if code := last.process.wait(t); code != 0 || !strings.Contains(last.process.Said(), "has left the cluster") {
		t.Errorf("the machine that left ends with %d", code)
	}
	s := c.whole(3)
	if id := idOf(s, last.address); id != "" {
		t.Errorf("%s is a member still", id)
	}
	l.goOn(8)
	trefoil(t, "cluster", "leave", "--to", first.url()).must(t, 0)
	if code := first.process.wait(t); code != 0 || !strings.Contains(first.process.Said(), "has left the cluster") {
		t.Errorf("the first machine that left ends with %d", code)
	}
	c.whole(2)
	l.goOn(8)
	last.start()
	last.process.waitFor(t, `went on without this machine`)
	c.whole(3)
	l.goOn(8)
	l.stop()
	c.mustHold(h)
}

// TestRemove: a machine that runs is not given up by an operator before its process
// ends.
func TestRemove(t *testing.T) {
	t.Parallel()
	c := form(t, 4)
	h := &history{}
	c.fill(h, 3000)
	first, last := c.machines[0], c.machines[3]
	refused := trefoil(t, "cluster", "remove", "--to", first.url(), last.address).must(t, 1)
	if !strings.Contains(refused.stderr, "cluster leave") {
		t.Errorf("remove says: %s", refused.stderr)
	}
	trefoil(t, "cluster", "remove", "--force", "--to", first.url(), last.address).must(t, 0)
	until(t, "the leader waits for its end", func() error {
		s, err := first.status()
		if err == nil && !strings.Contains(s.Waiting, "is alive") {
			err = fmt.Errorf("it waits for %q", s.Waiting)
		}
		return err
	})
	last.kill()
	c.whole(3)
	c.mustHold(h)
}

// TestSpare: a spare holds nothing until a machine dies, and then takes its place.
func TestSpare(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 4)
	c.machines[3].args = append(c.machines[3].args, "--spare")
	c.form()
	h := &history{}
	c.fill(h, 3000)
	spare, victim := c.machines[3], c.machines[1]
	until(t, "an empty spare", func() error {
		if state := c.stateOf(spare); state != "spare, 0 segments" {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
	l := c.startLoad(h, newRandom(t))
	l.goOn(5)
	victim.kill()
	c.whole(3)
	until(t, "the spare serves", func() error {
		if state := c.stateOf(spare); !strings.HasPrefix(state, "up") {
			return fmt.Errorf("it is %s", state)
		}
		return nil
	})
	l.goOn(8)
	l.stop()
	c.mustHold(h)
}

// stateOf returns what the status says of a machine.
func (c *cluster) stateOf(of *machine) string {
	c.t.Helper()
	s, err := c.machines[0].status()
	if err != nil {
		return err.Error()
	}
	for _, m := range s.Members {
		if m.Address == of.address {
			return fmt.Sprintf("%s, %d segments", m.State, m.Segments)
		}
	}
	return "no member"
}
