package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/trefoildb/trefoil/client"
)

// rebuild kills one node of clusters of several sizes, with as much data for each
// node and with as much data for all together, and measures how the others make up
// for it.
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

// filled forms a cluster, loads data and waits until it rests.
func (b *bench) filled(ctx context.Context, n int, triples int64) (c *cluster, file string, err error) {
	if file, err = b.data(ctx, triples); err != nil {
		return nil, "", err
	}
	if c, err = b.form(ctx, n); err != nil {
		return nil, "", err
	}
	if _, err = c.load(ctx, file); err == nil {
		_, err = c.rest(ctx)
	}
	if err != nil {
		c.close()
		return nil, "", err
	}
	return c, file, nil
}

func (b *bench) rebuildOf(ctx context.Context, n int, triples int64, how string) error {
	c, _, err := b.filled(ctx, n, triples)
	if err != nil {
		return err
	}
	defer c.close()
	_, victim, err := c.leader(ctx)
	if err != nil {
		return err
	}
	r, err := c.lose(ctx, victim)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("one node killed, %s (%s triples)", how, thousands(float64(triples)))
	add := func(more string, value float64, unit, asked, detail string) {
		b.report.add(figure{What: what + ": " + more, Nodes: n, Value: value, Unit: unit, Asked: asked, Detail: detail})
	}
	add("until it is excluded", r.excluded.Seconds(), "s", "5 s", "")
	add("until all copies are there", r.whole.Seconds(), "s", "", fmt.Sprintf("of that %.2f s of walks", r.walks.took.Seconds()))
	detail := fmt.Sprintf("%s rows in all", thousands(float64(r.walks.rows)))
	add("rows walked, all nodes together", perSecond(r.walks.rows, r.walks.took), "rows/s", "", detail)
	add("rows repaired, all nodes together", perSecond(r.walks.repaired, r.walks.took), "rows/s", "100,000",
		fmt.Sprintf("%s rows in all", thousands(float64(r.walks.repaired))))
	cores := min(runtime.NumCPU(), n-1)
	add("rows walked for each core", perSecond(r.walks.rows, r.walks.took)/float64(cores), "rows/s", "500,000",
		fmt.Sprintf("%d cores, which also send and take what is repaired", cores))
	if r.cpu > 0 {
		add("processor time of each survivor, from the loss to the last copy", r.cpu.Seconds()/float64(n-1), "s", "",
			fmt.Sprintf("all that they do meanwhile: %s rows walked for each second of it", thousands(perSecond(r.walks.rows, r.cpu))))
	}
	return nil
}

// lost is what followed the loss of a node.
type lost struct {
	killedAt            time.Time
	excluded, whole     time.Duration // since then: the first view without it, and the first that is idle after that
	excludedAt, wholeAt time.Time
	fillEpoch           int64
	walks               walks
	cpu                 time.Duration // of the others, all together
}

// lose kills a node and waits until the others are whole again.
func (c *cluster) lose(ctx context.Context, victim *machine) (l lost, err error) {
	before := c.cpu(victim)
	l.killedAt = time.Now()
	c.kill(victim)
	n := len(c.live())
	if _, err := c.until(ctx, "a view without the node that was killed", func(s client.Status) bool { return len(s.Members) == n }); err != nil {
		return l, err
	}
	if err := c.whole(ctx); err != nil {
		return l, err
	}
	l.cpu = c.cpu(victim) - before
	for _, e := range c.since(l.killedAt) {
		if e.what != adopted || e.number("members") != int64(n) {
			continue
		}
		idle := e.fields["phase"] == "idle"
		if l.excludedAt.IsZero() || e.at.Before(l.excludedAt) {
			l.excludedAt = e.at
		}
		if idle && (l.wholeAt.IsZero() || e.at.Before(l.wholeAt)) {
			l.wholeAt = e.at
		}
		if epoch := e.number("epoch"); e.fields["phase"] == "fill" && (l.fillEpoch == 0 || epoch < l.fillEpoch) {
			l.fillEpoch = epoch
		}
	}
	if l.fillEpoch == 0 || l.wholeAt.IsZero() {
		return l, errors.New("the logs of the nodes tell of no fill without the node that was killed")
	}
	l.excluded, l.whole = l.excludedAt.Sub(l.killedAt), l.wholeAt.Sub(l.killedAt)
	l.walks, err = c.walksOf(l.fillEpoch)
	return l, err
}

// since returns the events of all live nodes from a time on.
func (c *cluster) since(at time.Time) (events []event) {
	for _, m := range c.live() {
		events = append(events, m.process.since(at)...)
	}
	return events
}

// cpu returns the processor time of all live nodes but one.
func (c *cluster) cpu(but *machine) (total time.Duration) {
	for _, m := range c.live() {
		if m != but {
			total += m.process.cpu()
		}
	}
	return total
}

// walks are those of all nodes for one view.
type walks struct {
	rows, repaired int64
	took           time.Duration // from the first adoption of the view to the end of the last
}

func (c *cluster) walksOf(epoch int64) (w walks, err error) {
	var from, until time.Time
	for _, m := range c.live() {
		ended := false
		for _, e := range m.process.since(time.Time{}) {
			switch {
			case e.number("epoch") != epoch:
			case e.what == adopted:
				if from.IsZero() || e.at.Before(from) {
					from = e.at
				}
			case e.what == walked:
				ended = true
				w.rows += e.number("rows")
				w.repaired += e.number("repaired")
				if e.at.After(until) {
					until = e.at
				}
			}
		}
		if !ended {
			return w, fmt.Errorf("the log of %s tells of no walk in epoch %d", m.address, epoch)
		}
	}
	w.took = until.Sub(from)
	return w, nil
}
