// A node that joins a cluster.

package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/triple"
)

// growth adds a node to a cluster: first at rest, to measure the rows that move, then while
// clients read and write.
func (b *bench) growth(ctx context.Context) error {
	for _, busy := range []bool{false, true} {
		if err := b.growFrom(ctx, b.sizes.growFrom, busy); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) growFrom(ctx context.Context, n int, busy bool) error {
	// 1. A full cluster. If it is at rest, the rows that move are all that counts.
	c, file, err := b.filled(ctx, n, b.sizes.inTotal)
	if err != nil {
		return err
	}
	defer c.Close()
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
	questions, err := rig.Sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.Seed, 4)))
	if err != nil {
		return err
	}
	// Writes must be near other triples, because a read queries the sequencer of an operation in flight.
	near, err := rig.Sample(file, 10*b.sizes.questions, rand.New(rand.NewPCG(b.Seed, 6)))
	if err != nil {
		return err
	}

	// 2. The clients read and write for a while before the node joins.
	members := c.Live()
	reads, writes := b.readLoop(ctx, questions, members), b.writeLoop(ctx, near, members)
	defer reads.stop()
	defer writes.stop()
	if err := retry.Sleep(ctx, b.sizes.watchedFor); err != nil { // warms up
		return err
	}
	// The reference is the same clients in the same run.
	begun := time.Now()
	if err := retry.Sleep(ctx, b.sizes.watchedFor); err != nil {
		return err
	}
	g, err := c.growOne(ctx)
	if err != nil {
		return err
	}
	// Both loops must have ended before their attempts are counted.
	reads.stop()
	writes.stop()

	// 3. Compare the time before with the time in which rows moved.
	for _, l := range []struct {
		what string
		loop *loop
		unit string
		each float64
	}{
		{fmt.Sprintf("reads by subject, %d clients", loopClients), reads, "reads/s", 1},
		{fmt.Sprintf("adds in batches of %d, 1 client", loopBatch), writes, "triples/s", loopBatch},
	} {
		before, _, _ := l.loop.rateBetween(begun, g.begun)
		// fillAt begins the movement; the start of the process before it moves nothing.
		rate, took, failed := l.loop.rateBetween(g.fillAt, g.wholeAt)
		b.Report.Add(rig.Figure{What: l.what + ", before", Nodes: n, Value: before * l.each, Unit: l.unit})
		b.Report.Add(rig.Figure{What: l.what + ", while rows move to a new node", Nodes: n + 1, Value: rate * l.each, Unit: l.unit,
			Detail: fmt.Sprintf("%.2fx of before; %s; %d failed; in %.1f s", rig.Ratio(rate, before), took.String(), failed, g.wholeAt.Sub(g.fillAt).Seconds())})
	}
	return nil
}

// rowsOf estimates the rows of a cluster, extra copies included, from the places of a sample of
// the triples.
func (b *bench) rowsOf(ctx context.Context, c *cluster, file string) (float64, error) {
	l, err := c.layout(ctx)
	if err != nil {
		return 0, err
	}
	triples, err := rig.Sample(file, 10*b.sizes.questions, rand.New(rand.NewPCG(b.Seed, 7)))
	if err != nil {
		return 0, err
	}
	rows := 0
	for _, t := range triples {
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		slots, err := l.joint.Base.Places(key)
		if err != nil {
			return 0, err
		}
		rows += len(slots)
	}
	return rig.Ratio(float64(rows), float64(len(triples))) * float64(b.sizes.inTotal), nil
}

func (b *bench) reportGrowth(n int, g grown, rows float64) {
	share := rig.Ratio(float64(g.walks.repaired), rows)
	ideal := 1 / float64(n+1)
	what := fmt.Sprintf("a node joins %d that have %s triples: ", n, rig.Thousands(float64(b.sizes.inTotal)))
	b.Report.Add(rig.Figure{What: what + "share of rows that move, of 1/" + fmt.Sprint(n+1), Nodes: n + 1, Value: rig.Ratio(share, ideal), Unit: "x", Target: "1.3x",
		Detail: fmt.Sprintf("%s of about %s rows", rig.Thousands(float64(g.walks.repaired)), rig.Thousands(rows))})
	b.Report.Add(rig.Figure{What: what + "until it has its part", Nodes: n + 1, Value: g.wholeAt.Sub(g.fillAt).Seconds(), Unit: "s",
		Detail: fmt.Sprintf("%.2f s with the start of its process; moves are held to 64 MiB/s a node", g.wholeAt.Sub(g.begun).Seconds())})
}

// grown is the result of a growth by one node.
type grown struct {
	begun           time.Time // the process was started
	fillAt, wholeAt time.Time // the view in which rows move, and the first idle one after that
	walks           walks
}

func (c *cluster) growOne(ctx context.Context) (g grown, err error) {
	g.begun = time.Now()
	if err := c.Grow(ctx, 1); err != nil {
		return g, err
	}
	n := len(c.Live())
	if _, err := c.WaitStatus(ctx, "the new node is whole", func(s client.Status) bool { return rig.IsWhole(s, n) }); err != nil {
		return g, err
	}
	fill := int64(0)
	for _, e := range c.EventsSince(g.begun) {
		if e.What != rig.Adopted || e.Number("members") != int64(n) {
			continue
		}
		switch phase := e.Fields["phase"]; {
		case phase == "fill" && (g.fillAt.IsZero() || e.At.Before(g.fillAt)):
			g.fillAt, fill = e.At, e.Number("epoch")
		case phase == "idle" && (g.wholeAt.IsZero() || e.At.Before(g.wholeAt)):
			g.wholeAt = e.At
		}
	}
	if fill == 0 || g.wholeAt.IsZero() {
		return g, errors.New("the logs of the nodes have no fill with the new node")
	}
	g.walks, err = c.walksOf(fill)
	return g, err
}
