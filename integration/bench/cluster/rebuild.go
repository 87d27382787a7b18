// The loss of a node, until all copies are regenerated.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// rebuild kills one node of clusters of several sizes and measures the repair by the others. It
// runs with equal data for each node, and with equal data in total.
func (b *bench) rebuild(ctx context.Context) error {
	for _, n := range b.sizes.rebuilt {
		if err := b.rebuildOf(ctx, n, b.sizes.perMachine*int64(n), "as much data for each node"); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	for _, n := range b.sizes.rebuilt {
		if err := b.rebuildOf(ctx, n, b.sizes.inTotal, "as much data in total"); err != nil {
			return fmt.Errorf("%d nodes: %w", n, err)
		}
	}
	return nil
}

func (b *bench) rebuildOf(ctx context.Context, n int, triples int64, how string) error {
	c, _, err := b.filled(ctx, n, triples)
	if err != nil {
		return err
	}
	defer c.Close()
	// The leader is not the victim, because an election would add to the times.
	_, victim, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	r, err := c.lose(ctx, victim)
	if err != nil {
		return err
	}
	// The figures of a backfill are sums over all survivors.
	what := fmt.Sprintf("one node killed, %s (%s triples)", how, rig.Thousands(float64(triples)))
	// asked is the target of a figure, empty if there is none.
	add := func(more string, value float64, unit, target, detail string) {
		b.Report.Add(rig.Figure{What: what + ": " + more, Nodes: n, Value: value, Unit: unit, Target: target, Detail: detail})
	}
	add("until it is excluded", r.excluded.Seconds(), "s", "5 s", "")
	add("until all copies are there", r.whole.Seconds(), "s", "", fmt.Sprintf("of that %.2f s of walks", r.walks.took.Seconds()))
	detail := fmt.Sprintf("%s rows in all", rig.Thousands(float64(r.walks.rows)))
	add("rows backfilled, all nodes together", rig.PerSecond(r.walks.rows, r.walks.took), "rows/s", "", detail)
	add("rows repaired, all nodes together", rig.PerSecond(r.walks.repaired, r.walks.took), "rows/s", "100,000",
		fmt.Sprintf("%s rows in all", rig.Thousands(float64(r.walks.repaired))))
	// All nodes share one machine, so more survivors than cores cannot add speed.
	cores := min(runtime.NumCPU(), n-1)
	add("rows backfilled for each core", rig.PerSecond(r.walks.rows, r.walks.took)/float64(cores), "rows/s", "500,000",
		fmt.Sprintf("%d cores, which also send and take what is repaired", cores))
	if r.cpu > 0 {
		add("processor time of each survivor, from the loss to the last copy", r.cpu.Seconds()/float64(n-1), "s", "",
			fmt.Sprintf("all that they do meanwhile: %s rows backfilled for each second of it", rig.Thousands(rig.PerSecond(r.walks.rows, r.cpu))))
	}
	return nil
}

// lost is the course of a loss.
type lost struct {
	killedAt            time.Time
	excluded, whole     time.Duration // since then: the first view without it, and the first that is idle after that
	excludedAt, wholeAt time.Time
	fillEpoch           int64
	walks               walks
	cpu                 time.Duration // of the others, all together
}

// lose kills a node and waits until the others are whole again.
func (c *cluster) lose(ctx context.Context, victim *rig.Machine) (l lost, err error) {
	// 1. Kill the victim and wait for the repair.
	before := c.CPU(victim)
	l.killedAt = time.Now()
	c.Kill(victim)
	n := len(c.Live())
	if _, err := c.WaitStatus(ctx, "a view without the node that was killed", func(s client.Status) bool { return len(s.Members) == n }); err != nil {
		return l, err
	}
	if err := c.WaitComplete(ctx); err != nil {
		return l, err
	}
	l.cpu = c.CPU(victim) - before

	// 2. The views without the victim. A member logs each view; the first log entry counts.
	for _, e := range c.EventsSince(l.killedAt) {
		if e.What != rig.Adopted || e.Number("members") != int64(n) {
			continue
		}
		idle := e.Fields["phase"] == "idle"
		if l.excludedAt.IsZero() || e.At.Before(l.excludedAt) {
			l.excludedAt = e.At
		}
		if idle && (l.wholeAt.IsZero() || e.At.Before(l.wholeAt)) {
			l.wholeAt = e.At
		}
		if epoch := e.Number("epoch"); e.Fields["phase"] == "fill" && (l.fillEpoch == 0 || epoch < l.fillEpoch) {
			l.fillEpoch = epoch
		}
	}
	if l.fillEpoch == 0 || l.wholeAt.IsZero() {
		return l, errors.New("the logs of the nodes have no fill without the node that was killed")
	}
	l.excluded, l.whole = l.excludedAt.Sub(l.killedAt), l.wholeAt.Sub(l.killedAt)
	l.walks, err = c.walksOf(l.fillEpoch)
	return l, err
}

// walks are the backfills of all nodes for one view.
type walks struct {
	rows, repaired int64
	took           time.Duration // from the first adoption of the view to the end of the last
}

func (c *cluster) walksOf(epoch int64) (w walks, err error) {
	var from, until time.Time
	for _, m := range c.Live() {
		ended := false
		for _, e := range m.Process.EventsSince(time.Time{}) {
			switch {
			case e.Number("epoch") != epoch:
			case e.What == rig.Adopted:
				if from.IsZero() || e.At.Before(from) {
					from = e.At
				}
			case e.What == rig.Backfilled:
				ended = true
				w.rows += e.Number("rows")
				w.repaired += e.Number("repaired")
				if e.At.After(until) {
					until = e.At
				}
			}
		}
		if !ended {
			return w, fmt.Errorf("the log of %s has no walk in epoch %d", m.Address, epoch)
		}
	}
	w.took = until.Sub(from)
	return w, nil
}
