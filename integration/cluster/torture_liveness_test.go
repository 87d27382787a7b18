// Liveness in the torture: a cluster without faults answers within a bound.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// answersWithin is the longest virtual time, after the last fault ended, until each member has
// answered a write and a read. A machine that is not a member yet may join later.
const answersWithin = time.Minute

// mustAnswer waits until each member has answered a write and a read, and fails the test after
// answersWithin. Those that answer must be most of the wanted hosts. The clients go on meanwhile.
func (t *torture) mustAnswer() {
	t.t.Helper()
	c := &client{t, "liveness", t.random}
	began := time.Now()
	answered := map[*host]bool{}
	for {
		why := ""
		for _, h := range t.wanted() {
			p := h.up()
			if p == nil || answered[h] {
				continue
			}
			if n, _ := p.running(); n == nil {
				continue
			}
			if err := c.probe(p); err != nil {
				why = fmt.Sprintf("%s: %v", h.name, err)
				continue
			}
			answered[h] = true
		}
		if why == "" && 2*len(answered) <= len(t.wanted()) {
			why = fmt.Sprintf("only %d of %d machines are members", len(answered), len(t.wanted()))
		}
		took := time.Since(began)
		if why == "" {
			t.slowest = max(t.slowest, took)
			return
		}
		if took > answersWithin {
			for _, h := range t.wanted() {
				if n := h.member(); n != nil {
					t.t.Logf("%s: %s: %+v", h.name, n.MachineID(), n.Status())
				}
			}
			t.t.Fatalf("all faults ended %s ago, and not all members answer: %s; faults: %q", took, why, t.soFar())
		}
		time.Sleep(50 * time.Millisecond) // of virtual time
	}
}

// probe writes a triple and reads all through a machine.
func (c *client) probe(p *process) error {
	ctx, cancel := context.WithTimeout(c.torture.t.Context(), 5*time.Second)
	defer cancel()
	n, _ := p.running()
	if n == nil {
		return fmt.Errorf("it ended")
	}
	if err := c.probeWrite(ctx, p, n); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	call := c.torture.history.tick()
	sn, err := n.Reader()
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer sn.Close()
	a := c.read(sn.Range(ctx, triple.Bounds{Order: triple.SPO}, store.ReadOptions{}), call, p)
	if c.torture.universe.all > 0 {
		c.observe(p, a, triple.SPO, call, "all of SPO", func(int) bool { return a.err == nil })
	}
	if a.err != nil {
		return fmt.Errorf("read: %w", a.err)
	}
	return nil
}

// probeWrite adds a triple, which the history then has, or makes a write that changes nothing: in a universe
// without facts, because its clients know all triples, and if the writes of a triple are in doubt too often to
// be judged.
func (c *client) probeWrite(ctx context.Context, p *process, n *cluster.Node) error {
	h, moving := c.torture.history, c.torture.universe.moving
	i := -1
	if moving > 0 {
		i = c.random.IntN(moving)
	}
	if i < 0 || h.doubtful(i) {
		r, err := store.Delete(ctx, n, []triple.Triple{{Subject: triple.NewIRI("http://e.x/none"), Predicate: triple.NewIRI("http://e.x/none"), Object: triple.NewIRI("http://e.x/none")}})
		if err == nil && (r.Deleted != 0 || r.Missing != 1) {
			c.torture.fail("%s: the delete of 1 triple that is not there is %+v", p.host.name, r)
		}
		return err
	}
	call := h.tick()
	r, err := store.Add(ctx, n, []triple.Triple{fact(i)})
	known := err == nil && !p.dead.Load()
	nothing := err != nil && !errors.Is(err, store.ErrUnknown) && r.Added+r.Existing == 0
	if known || !nothing || p.dead.Load() {
		h.wrote(i, true, call, known, fmt.Sprintf("%s through %s: %v", c.name, p.host.name, err))
	}
	if err == nil && r.Added+r.Existing != 1 {
		c.torture.fail("%s: 1 triple is written as %+v", p.host.name, r)
	}
	return err
}
