package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/triple"
)

// growth adds a node to a cluster: first with nothing else going on, to measure
// what moves; then while clients read and write.
func (b *bench) growth(ctx context.Context) error {
	for _, busy := range []bool{false, true} {
		if err := b.grow(ctx, b.sizes.growFrom, busy); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) grow(ctx context.Context, n int, busy bool) error {
	c, file, err := b.filled(ctx, n, b.sizes.inTotal)
	if err != nil {
		return err
	}
	defer c.close()
	if !busy {
		g, err := c.growOne(ctx)
		if err != nil {
			return err
		}
		rows, err := b.rowsOf(ctx, c, file)
		if err != nil {
			return err
		}
		b.reportGrowth(n, g, rows)
		return nil
	}
	asked, err := sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.seed, 4)))
	if err != nil {
		return err
	}
	// Others than are read: a read of what is just being written waits for it.
	near, err := sample(file, 10*b.sizes.questions, rand.New(rand.NewPCG(b.seed, 6)))
	if err != nil {
		return err
	}
	members := c.live()
	reads, writes := b.readLoop(ctx, asked, members), b.writeLoop(ctx, near, members)
	defer reads.stop()
	defer writes.stop()
	if err := pause(ctx, b.sizes.watchedFor); err != nil { // warms up
		return err
	}
	begun := time.Now()
	if err := pause(ctx, b.sizes.watchedFor); err != nil {
		return err
	}
	g, err := c.growOne(ctx)
	if err != nil {
		return err
	}
	reads.stop()
	writes.stop()
	for _, l := range []struct {
		what string
		loop *loop
		unit string
		each float64
	}{
		{fmt.Sprintf("reads by subject, %d clients", loopClients), reads, "reads/s", 1},
		{fmt.Sprintf("adds in batches of %d, 1 client", loopBatch), writes, "triples/s", loopBatch},
	} {
		before, _, _ := l.loop.between(begun, g.begun)
		rate, took, failed := l.loop.between(g.fillAt, g.wholeAt)
		b.report.add(figure{What: l.what + ", before", Nodes: n, Value: before * l.each, Unit: l.unit})
		b.report.add(figure{What: l.what + ", while rows move to a new node", Nodes: n + 1, Value: rate * l.each, Unit: l.unit,
			Detail: fmt.Sprintf("%.2fx of before; %s; %d failed; in %.1f s", ratio(rate, before), took.show(), failed, g.wholeAt.Sub(g.fillAt).Seconds())})
	}
	return nil
}

// rowsOf returns about how many rows, versions and extra replicas, a cluster has of the
// triples in a file: by the places of a sample of them.
func (b *bench) rowsOf(ctx context.Context, c *cluster, file string) (float64, error) {
	l, err := c.layout(ctx)
	if err != nil {
		return 0, err
	}
	triples, err := sample(file, 10*b.sizes.questions, rand.New(rand.NewPCG(b.seed, 7)))
	if err != nil {
		return 0, err
	}
	rows := 0
	for _, t := range triples {
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		slots, err := l.joint.Base.Slots(key)
		if err != nil {
			return 0, err
		}
		rows += len(slots)
	}
	return ratio(float64(rows), float64(len(triples))) * float64(b.sizes.inTotal), nil
}

func (b *bench) reportGrowth(n int, g grown, rows float64) {
	share := ratio(float64(g.walks.repaired), rows)
	ideal := 1 / float64(n+1)
	what := fmt.Sprintf("a node joins %d that have %s triples: ", n, thousands(float64(b.sizes.inTotal)))
	b.report.add(figure{What: what + "share of rows that move, of 1/" + fmt.Sprint(n+1), Nodes: n + 1, Value: ratio(share, ideal), Unit: "x", Asked: "1.3x",
		Detail: fmt.Sprintf("%s of about %s rows", thousands(float64(g.walks.repaired)), thousands(rows))})
	b.report.add(figure{What: what + "until it has its part", Nodes: n + 1, Value: g.wholeAt.Sub(g.fillAt).Seconds(), Unit: "s",
		Detail: fmt.Sprintf("%.2f s with the start of its process; moves are held to 64 MiB/s a node", g.wholeAt.Sub(g.begun).Seconds())})
}

// grown is what the growth by one node did.
type grown struct {
	begun           time.Time // the process was started
	fillAt, wholeAt time.Time // the view in which rows move, and the first idle one after that
	walks           walks
}

func (c *cluster) growOne(ctx context.Context) (g grown, err error) {
	g.begun = time.Now()
	if err := c.grow(ctx, 1); err != nil {
		return g, err
	}
	n := len(c.live())
	if _, err := c.until(ctx, "the new node is whole", func(s client.Status) bool { return isWhole(s, n) }); err != nil {
		return g, err
	}
	fill := int64(0)
	for _, e := range c.since(g.begun) {
		if e.what != adopted || e.number("members") != int64(n) {
			continue
		}
		switch phase := e.fields["phase"]; {
		case phase == "fill" && (g.fillAt.IsZero() || e.at.Before(g.fillAt)):
			g.fillAt, fill = e.at, e.number("epoch")
		case phase == "idle" && (g.wholeAt.IsZero() || e.at.Before(g.wholeAt)):
			g.wholeAt = e.at
		}
	}
	if fill == 0 || g.wholeAt.IsZero() {
		return g, errors.New("the logs of the nodes tell of no fill with the new node")
	}
	g.walks, err = c.walksOf(fill)
	return g, err
}
