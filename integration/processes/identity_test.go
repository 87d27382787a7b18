// Members whose directory lacks the log of the cluster, or has an old one.

package processes

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// run runs a command of the binary to its end and returns what it printed.
func (c *cluster) run(words ...string) (said string, err error) {
	c.t.Helper()
	b, err := testbinary.Command(context.Background(), append([]string{binary}, words...)...).CombinedOutput()
	return string(b), err
}

// TestLogLost: all processes are killed, and the raft/ directory of one machine is
// gone. It does not start, before the others, with them or after them, and says what to
// do; the others have all that was acknowledged.
func TestLogLost(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before the others", "with the others", "after the others"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			c := form(t, 3, patiently)
			h := &history{}
			c.fill(h, 2000)
			c.whole(3)
			c.fill(h, 200) // in the last epoch
			c.killAll()
			one, others := c.machines[2], c.machines[:2]
			require.NoError(t, os.RemoveAll(filepath.Join(one.dir, "raft")))
			start := func(all ...*machine) {
				for _, m := range all {
					m.start()
				}
			}
			switch when {
			case "before the others":
				start(one)
				one.mustRefuse()
				start(others...)
			case "with the others":
				start(c.machines...)
				one.mustRefuse()
			default:
				start(others...)
				for _, m := range others {
					m.ready()
				}
				start(one)
				one.mustRefuse()
			}
			for _, m := range others {
				m.ready()
			}
			c.whole(2)
			for _, m := range c.machines {
				if _, err := os.Stat(filepath.Join(m.dir, "aside")); err == nil {
					t.Errorf("machine %d has set its data aside", m.number)
				}
			}
			c.mustHold(h)
			if said, err := c.run("cluster", "set-aside", "--data", one.dir, "--join", others[0].address, "--force"); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			one.start()
			one.ready()
			c.whole(3)
			c.mustHold(h)
		})
	}
}

// lostStart is a start of three machines, one of which has no log.
type lostStart struct {
	lost    int
	order   [3]int
	delayed bool // some time passes between the starts
}

// TestTortureLogLost: the cluster is killed and starts without the log of one machine, in
// every order, at once and with delays. TREFOIL_TORTURE has all 36 starts, a test two.
func TestTortureLogLost(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	var starts []lostStart
	for lost := range 3 {
		for _, order := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			starts = append(starts, lostStart{lost, order, false}, lostStart{lost, order, true})
		}
	}
	random.Shuffle(len(starts), func(i, j int) { starts[i], starts[j] = starts[j], starts[i] })
	if torture(t, 0) == 0 {
		starts = starts[:2]
	}
	// Each start leaves the cluster whole for the next one.
	c := form(t, 3)
	h := &history{}
	for _, s := range starts {
		t.Logf("machine %d has no log, the order is %v, with delays: %v", s.lost+1, s.order, s.delayed)
		c.fill(h, 200)
		c.whole(3)
		c.killAll()
		one := c.machines[s.lost]
		log := filepath.Join(one.dir, "raft")
		require.NoError(t, os.Rename(log, one.dir+".raft"))
		for _, i := range s.order {
			c.machines[i].start()
			if s.delayed {
				pass(randomTime(random, 0, 3*time.Second))
			}
		}
		one.mustRefuse()
		c.whole(2)
		c.mustHold(h)
		// With its log back, the machine rejoins.
		require.NoError(t, os.RemoveAll(log))
		require.NoError(t, os.Rename(one.dir+".raft", log))
		one.start()
		c.whole(3)
	}
	c.mustHold(h)
}

// mustRefuse waits until the machine's process has ended because its log is missing.
func (m *machine) mustRefuse() {
	t := m.c.t
	t.Helper()
	if code := m.process.wait(t); code == 0 {
		t.Errorf("machine %d ended with code 0", m.number)
	}
	said := m.process.Said()
	for _, part := range []string{filepath.Join(m.dir, "raft") + " is missing or empty", "trefoil cluster set-aside --data " + m.dir, "docs/operations/cluster.md"} {
		if !strings.Contains(said, part) {
			t.Errorf("machine %d does not say %q:\n%s", m.number, part, said)
		}
	}
}

// TestRecoverMajority: one of three was stopped early, and another one is lost. The
// operator goes by what the commands print, and loses nothing.
func TestRecoverMajority(t *testing.T) {
	t.Parallel()
	c := form(t, 3)
	h := &history{}
	c.fill(h, 1000)
	c.whole(3)
	stale, lost, left := c.machines[2], c.machines[1], c.machines[0]
	stale.process.signal(t, syscall.SIGKILL)
	stale.process.wait(t)
	c.whole(2)
	c.fill(h, 500) // the stale one has not these
	if said, err := c.run("cluster", "recover-majority", "--data", stale.dir, "--force"); err == nil || !strings.Contains(said, "most members answer") {
		t.Fatalf("while most run: %v, %s", err, said)
	}
	lost.kill()
	left.stop()
	c.machines = []*machine{left, stale}
	keep := map[*machine]string{}
	for _, m := range c.machines {
		said, err := c.run("cluster", "recover-majority", "--data", m.dir, "--show")
		found := regexp.MustCompile(`--keep (\S+)`).FindStringSubmatch(said)
		if err != nil || found == nil {
			t.Fatalf("--show: %v, %s", err, said)
		}
		keep[m] = found[1]
	}
	if said, err := c.run("cluster", "recover-majority", "--data", stale.dir, "--keep", keep[left], "--force"); err == nil || !strings.Contains(said, "Run this on") {
		t.Fatalf("on the stale one: %v, %s", err, said)
	}
	said, err := c.run("cluster", "recover-majority", "--data", left.dir, "--force")
	if err != nil || !strings.Contains(said, "generation 2") || strings.Contains(said, "lost") {
		t.Fatalf("on the newer one: %v, %s", err, said)
	}
	left.start()
	left.ready()
	stale.start()
	stale.process.waitFor(t, `a later generation of the cluster (runs)`)
	stale.stop()
	if said, err := c.run("cluster", "set-aside", "--data", stale.dir, "--join", left.address, "--force"); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	stale.start()
	stale.ready()
	c.whole(2)
	c.mustHold(h)
}
