// Outages of reads and writes after a kill.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/triple"
)

// A probe begins in each interval.
const (
	probeInterval = 20 * time.Millisecond
	probeTimeout  = 10 * time.Second
)

// availability kills the leader some times, then another node. It measures the time without a
// write and without a read through the others. Keys of the victim and other keys count apart.
func (b *bench) availability(ctx context.Context) error {
	c, file, err := b.filled(ctx, b.sizes.available, b.sizes.probedCount)
	if err != nil {
		return err
	}
	defer c.Close()
	near, err := rig.Sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.Seed, 5)))
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

// probeKind is the kind of a probe. It is affected if it needs the machine that was killed.
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

// killAndProbe kills a node while probes run, adds the outages to found and restarts the node.
func (c *cluster) killAndProbe(ctx context.Context, who string, near []triple.Triple, run int, found map[probeKind][]outage) error {
	// 1. Choose the victim. The layout must be read before, because a kill changes it.
	l, err := c.layout(ctx)
	if err != nil {
		return err
	}
	leader, other, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	victim := leader
	if who != "the leader" {
		victim = other
	}
	survivors := slices.DeleteFunc(c.Live(), func(m *rig.Machine) bool { return m == victim })

	// 2. Probe, and kill it meanwhile.
	probing, cancel := context.WithCancel(ctx)
	defer cancel()
	p := c.b.startProbes(probing, survivors, near, run)
	defer p.stop(cancel)
	if err := retry.Sleep(ctx, c.b.sizes.watchedFor); err != nil {
		return err
	}
	killed := time.Now()
	c.Kill(victim)
	if err := retry.Sleep(ctx, c.b.sizes.probedFor); err != nil {
		return err
	}
	ended := time.Now()
	p.stop(cancel)

	// 3. A probe is affected if the layout says that it needs the victim.
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
	return c.Restart(ctx, victim)
}

// probes are requests that begin at fixed times, even if earlier ones have not ended.
type probes struct {
	group sync.WaitGroup
	mu    sync.Mutex
	done  []probe
}

// startProbes starts probes through machines in turn, each time a write and a read.
func (b *bench) startProbes(ctx context.Context, to []*rig.Machine, near []triple.Triple, run int) *probes {
	p := &probes{}
	r := rand.New(rand.NewPCG(b.Seed, uint64(run)))
	client := rig.NewHTTP(64)
	p.group.Go(func() {
		ticker := time.NewTicker(probeInterval)
		defer ticker.Stop()
		for n := 0; ; n++ {
			// The ticker sets the times: a slow answer must not thin out the probes.
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			// Each probe has its goroutine, because one that hangs must not delay the next.
			m := to[n%len(to)]
			known := near[r.IntN(len(near))]
			// Each write must be a new triple, so that its latency is not that of a repeated one.
			added := rig.Fresh(near[r.IntN(len(near))], run*1_000_000+n)
			p.group.Go(func() {
				p.try(ctx, probe{t: added, write: true}, func(ctx context.Context) error {
					_, err := m.Client.Add(ctx, []triple.Triple{added})
					return err
				})
			})
			p.group.Go(func() {
				p.try(ctx, probe{t: known}, func(ctx context.Context) error {
					_, err := rig.GetLines(ctx, client, subjectOf(m, known))
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
		return // it was interrupted, and says nothing about the cluster
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, one)
}

// stop ends the probes. done may be read after that.
func (p *probes) stop(cancel context.CancelFunc) {
	cancel()
	p.group.Wait()
}

// outage sums up the probes of one kind after a kill.
type outage struct {
	without time.Duration // the longest time without one that succeeded
	slowest time.Duration // of the successful probes
	failed  int
	probes  int
	over    bool // it ended while the probes ran
}

// outageOf returns the outage between two times.
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

// errNoProbe means that no probe of a kind has ended.
var errNoProbe = errors.New("no probe of this kind")

func (b *bench) reportOutages(who string, kind probeKind, outages []outage) {
	f := rig.Figure{What: fmt.Sprintf("%s killed: the longest without %s", who, kind), Nodes: b.sizes.available, Unit: "s"}
	if len(outages) == 0 {
		f.Detail = errNoProbe.Error()
		b.Report.Add(f)
		return
	}
	var without, slowest rig.Times
	failed, probes, open := 0, 0, 0
	for _, o := range outages {
		without, slowest = append(without, o.without), append(slowest, o.slowest)
		failed, probes = failed+o.failed, probes+o.probes
		if !o.over {
			open++
		}
	}
	f.Value = without.Quantile(0.5).Seconds()
	f.Detail = fmt.Sprintf("median of %d kills, at most %.2f s; the slowest that succeeded took %.2f s; %d of %d failed",
		len(outages), without.Quantile(1).Seconds(), slowest.Quantile(1).Seconds(), failed, probes)
	if open > 0 {
		f.Detail += fmt.Sprintf("; not over in %d after %s", open, b.sizes.probedFor)
	}
	b.Report.Add(f)
}
