// Two machines with two copies: either is killed, and the other one answers reads by itself.

package processes

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// aloneWithin bounds how long the machine that is left takes to answer all reads by itself. It
// should be failureTimeout and two seconds; on a busy machine all is slower.
const aloneWithin = 20 * time.Second

// quiet is for how long nothing happens before a kill. Each second a machine finds out in the
// background that all of earlier epochs is settled; nothing shows it, and without it a
// machine that is left refuses pages of links.
const quiet = 3 * time.Second

// alone fails unless the machine that is left reads all by itself soon, says so, and writes
// nothing.
func (p *pair) alone(left *machine) {
	t := p.t
	t.Helper()
	begun := time.Now()
	degraded := p.readsAll(left, "none")
	took := time.Since(begun)
	t.Logf("machine %d answered all reads by itself after %s", left.number, took)
	if took > aloneWithin {
		t.Errorf("it took %s", took)
	}
	if degraded == 0 && p.owned > 1 { // an order that is read is among them
		t.Error("nothing came from other orders")
	}
	s, err := left.status()
	if err != nil || !s.NoMajority || s.Leader != "" || len(s.Members) != 2 || !strings.Contains(s.Waiting, "a leader, which is not reached") {
		t.Errorf("status: %+v, %v", s, err)
	}
	if said := trefoil(t, "cluster", "status", "--to", left.url()).must(t, 0).stdout; !strings.Contains(said, "majority   none: this node answers reads by itself and refuses writes") {
		t.Errorf("trefoil cluster status:\n%s", said)
	}
	p.refusesWrites(left)
	p.readsAll(left, "none")
}

// refusesWrites fails unless a machine refuses each kind of change.
func (p *pair) refusesWrites(m *machine) {
	p.t.Helper()
	fresh, old := lines(5000, 3), slices.Sorted(maps.Keys(p.want))[:3]
	for _, w := range []pairWrite{addOf(fresh), deleteOf(old), updateOf(old, fresh), loadOf(fresh), linkOf(pageOf(3), pageOf(7)),
		{what: "a change of copies", method: http.MethodPost, path: "/cluster/copies?copies=3"}} {
		a := p.request(m, w.method, w.path, w.contentType, w.body)
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"kind":"unavailable"`) {
			p.t.Errorf("%s through machine %d: %d: %s", w.what, m.number, a.status, a.body)
		}
	}
}

// goesOn fails unless both machines read and write again.
func (p *pair) goesOn(from int) {
	p.t.Helper()
	p.c.whole(2)
	for i, m := range p.c.machines {
		p.readsAll(m, "")
		some := lines(from+10*i, 6)
		p.write(m, addOf(some))
		p.write(m, updateOf(some[:2], nil))
	}
	for _, m := range p.c.machines {
		p.readsAll(m, "")
	}
}

// TestTwo kills the leader, or the other one, of two machines with two copies. The one that
// is left reads everything by itself and writes nothing, and both go on when the other one
// is back. Started alone, it answers nothing and says what to do.
func TestTwo(t *testing.T) {
	t.Parallel()
	for _, leads := range []bool{true, false} {
		t.Run(map[bool]string{true: "the leader dies", false: "the other one dies"}[leads], func(t *testing.T) {
			t.Parallel()
			c := form(t, 2, "--copies", "2")
			p := &pair{t: t, c: c, want: map[string]bool{}, internal: map[string]bool{}}
			p.fill()
			status := c.whole(2)
			for _, m := range c.machines {
				p.readsAll(m, "")
			}
			p.settled()
			pass(quiet)
			left, dead := c.machines[0], c.machines[1]
			if (idOf(status, dead.address) == status.Leader) != leads {
				left, dead = dead, left
			}
			for _, m := range status.Members {
				if m.Address == dead.address {
					p.owned = m.Segments
				}
			}
			t.Logf("machine %d is killed, which answers for %d segments", dead.number, p.owned)
			dead.kill()
			p.alone(left)
			dead.start()
			dead.ready()
			p.goesOn(1000)

			p.settled()
			pass(quiet)
			dead.kill()
			p.alone(left)
			left.stop()
			left.start()
			left.ready()
			p.refusesReads(left)
			p.refusesWrites(left)
			dead.start()
			dead.ready()
			p.goesOn(1100)
		})
	}
}

// refusesReads fails unless a machine that was started alone answers no read, and says why
// and what to do. Links are waited for, so all is asked at once.
func (p *pair) refusesReads(m *machine) {
	p.t.Helper()
	parts := []string{"was started again", "start that one", "docs/operations/cluster.md"}
	var clients sync.WaitGroup
	for _, r := range p.reads() {
		clients.Go(func() {
			a := p.request(m, r.method, r.path, r.contentType, r.body)
			for _, part := range append(parts, `"kind":"unavailable"`) {
				if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, part) {
					p.t.Errorf("%s by machine %d, alone: %d, without %q: %s", r.path, m.number, a.status, part, a.body)
				}
			}
		})
	}
	clients.Wait()
	s, err := m.status()
	if err != nil || s.Cluster == "" || s.NoMajority {
		p.t.Errorf("status: %+v, %v", s, err)
	}
	for _, part := range parts {
		if !strings.Contains(s.Waiting, part) {
			p.t.Errorf("the status waits, without %q: %s", part, s.Waiting)
		}
	}
}
