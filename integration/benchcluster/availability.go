package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

// Probes begin so often, each with so much time.
const (
	probeEvery   = 20 * time.Millisecond
	probeTimeout = 10 * time.Second
)

// availability kills the leader some times, then another node, and measures how
// long there is no write and no read through the others: of keys that the dead
// node held or answered for, and of keys that it had nothing to do with.
func (b *bench) availability(ctx context.Context) error {
	c, file, err := b.filled(ctx, b.sizes.available, b.sizes.probedCount)
	if err != nil {
		return err
	}
	defer c.close()
	near, err := sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.seed, 5)))
	if err != nil {
		return err
	}
	run := 0
	for _, who := range []string{"the leader", "another node"} {
		found := map[probeKind][]outage{}
		for range b.sizes.kills {
			run++
			if err := c.killAndProbe(ctx, who, near, run, found); err != nil {
				return fmt.Errorf("kill %d: %w", run, err)
			}
		}
		for _, kind := range probeKinds {
			b.reportOutages(who, kind, found[kind])
		}
	}
	return nil
}

// probeKind is what a probe does, and whether the machine that died counted for it.
type probeKind struct {
	write, affected bool
}

var probeKinds = []probeKind{{true, true}, {true, false}, {false, true}, {false, false}}

func (k probeKind) String() string {
	what, whose := "reads", "that others answer for"
	if k.affected {
		whose = "that it answered for"
	}
	if k.write {
		what, whose = "writes", "of triples that it has no part in"
		if k.affected {
			whose = "of triples that it would hold or stamp"
		}
	}
	return what + " " + whose
}

// probe is one try of a write or a read.
type probe struct {
	attempt
	t     triple.Triple
	write bool
}

// killAndProbe kills a node while probes run, notes the outages and brings the node
// back.
func (c *cluster) killAndProbe(ctx context.Context, who string, near []triple.Triple, run int, found map[probeKind][]outage) error {
	l, err := c.layout(ctx)
	if err != nil {
		return err
	}
	leader, other, err := c.leader(ctx)
	if err != nil {
		return err
	}
	victim := leader
	if who != "the leader" {
		victim = other
	}
	survivors := slices.DeleteFunc(c.live(), func(m *machine) bool { return m == victim })
	probing, cancel := context.WithCancel(ctx)
	defer cancel()
	p := c.b.startProbes(probing, survivors, near, run)
	defer p.stop(cancel)
	if err := pause(ctx, c.b.sizes.watchedFor); err != nil {
		return err
	}
	killed := time.Now()
	c.kill(victim)
	if err := pause(ctx, c.b.sizes.probedFor); err != nil {
		return err
	}
	ended := time.Now()
	p.stop(cancel)
	byKind := map[probeKind][]probe{}
	for _, one := range p.done {
		touches := l.answers
		if one.write {
			touches = l.needs
		}
		affected, err := touches(victim, one.t)
		if err != nil {
			return err
		}
		kind := probeKind{one.write, affected}
		byKind[kind] = append(byKind[kind], one)
	}
	for kind, probes := range byKind {
		found[kind] = append(found[kind], outageOf(probes, killed, ended))
	}
	return c.restart(ctx, victim)
}

// probes are requests that begin at fixed times, whatever became of those before.
type probes struct {
	group sync.WaitGroup
	mu    sync.Mutex
	done  []probe
}

func (b *bench) startProbes(ctx context.Context, to []*machine, near []triple.Triple, run int) *probes {
	p := &probes{}
	r := rand.New(rand.NewPCG(b.seed, uint64(run)))
	client := newHTTP(64)
	p.group.Go(func() {
		ticker := time.NewTicker(probeEvery)
		defer ticker.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			m := to[n%len(to)]
			known := near[r.IntN(len(near))]
			added := fresh(near[r.IntN(len(near))], run*1_000_000+n)
			p.group.Go(func() {
				p.try(ctx, probe{t: added, write: true}, func(ctx context.Context) error {
					_, err := m.client.Add(ctx, []triple.Triple{added})
					return err
				})
			})
			p.group.Go(func() {
				p.try(ctx, probe{t: known}, func(ctx context.Context) error {
					_, err := get(ctx, client, subjectOf(m, known))
					return err
				})
			})
		}
	})
	return p
}

func (p *probes) try(ctx context.Context, one probe, do func(context.Context) error) {
	timed, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	one.begun = time.Now()
	one.err = do(timed)
	one.ended = time.Now()
	if ctx.Err() != nil {
		return // it was cut off, and tells nothing
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, one)
}

// stop ends the probes. What they did may be looked at after that.
func (p *probes) stop(cancel context.CancelFunc) {
	cancel()
	p.group.Wait()
}

// outage is what probes of one kind met after a node was killed.
type outage struct {
	without time.Duration // the longest time without one that succeeded
	slowest time.Duration // of those that succeeded
	failed  int
	probes  int
	over    bool // it ended while the probes ran
}

// outageOf looks at what succeeded from one time to another.
func outageOf(all []probe, from, until time.Time) (o outage) {
	var ends []time.Time
	for _, one := range all {
		if one.ended.Before(from) || one.ended.After(until) {
			continue
		}
		o.probes++
		if one.err != nil {
			o.failed++
			continue
		}
		ends = append(ends, one.ended)
		o.slowest = max(o.slowest, one.ended.Sub(one.begun))
	}
	slices.SortFunc(ends, time.Time.Compare)
	last := from
	for _, at := range ends {
		o.without = max(o.without, at.Sub(last))
		last = at
	}
	o.over = until.Sub(last) < time.Second
	o.without = max(o.without, until.Sub(last))
	return o
}

// errNoProbe says that no probe of a kind came to an end.
var errNoProbe = errors.New("no probe of this kind")

func (b *bench) reportOutages(who string, kind probeKind, outages []outage) {
	f := figure{What: fmt.Sprintf("%s killed: the longest without %s", who, kind), Nodes: b.sizes.available, Unit: "s"}
	if len(outages) == 0 {
		f.Detail = errNoProbe.Error()
		b.report.add(f)
		return
	}
	var without, slowest times
	failed, probes, open := 0, 0, 0
	for _, o := range outages {
		without, slowest = append(without, o.without), append(slowest, o.slowest)
		failed, probes = failed+o.failed, probes+o.probes
		if !o.over {
			open++
		}
	}
	f.Value = without.quantile(0.5).Seconds()
	f.Detail = fmt.Sprintf("median of %d kills, at most %.2f s; the slowest that succeeded took %.2f s; %d of %d failed",
		len(outages), without.quantile(1).Seconds(), slowest.quantile(1).Seconds(), failed, probes)
	if open > 0 {
		f.Detail += fmt.Sprintf("; not over in %d after %s", open, b.sizes.probedFor)
	}
	b.report.add(f)
}
