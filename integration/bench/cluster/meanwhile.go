// Reads while copies are regenerated.

package cluster

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/retry"
)

// readsMeanwhile measures reads of rows that survivors own, through survivors: before a node is
// killed, until it is excluded, until all copies are there, and after.
func (b *bench) readsMeanwhile(ctx context.Context) error {
	n := b.sizes.growFrom
	triples := b.sizes.perMachine * int64(n)
	c, file, err := b.filled(ctx, n, triples)
	if err != nil {
		return err
	}
	defer c.Close()

	// 1. The victim, and subjects that it does not answer for.
	l, err := c.layout(ctx)
	if err != nil {
		return err
	}
	leader, _, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	questions, err := rig.Sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.Seed, 3)))
	if err != nil {
		return err
	}
	victim, untouched, err := l.spare(leader, questions)
	if err != nil {
		return err
	}

	// 2. Read for a while, kill the victim, and read on until the cluster is at rest.
	survivors := slices.DeleteFunc(c.Live(), func(m *rig.Machine) bool { return m == victim })
	reads := b.readLoop(ctx, untouched, survivors)
	defer reads.stop()
	if err := retry.Sleep(ctx, b.sizes.watchedFor); err != nil { // warms up
		return err
	}
	begun := time.Now()
	if err := retry.Sleep(ctx, b.sizes.watchedFor); err != nil {
		return err
	}
	r, err := c.lose(ctx, victim)
	if err != nil {
		return err
	}
	// The phase after the repair begins only when no row moves any more.
	if _, err := c.Calm(ctx, math.Inf(1)); err != nil {
		return err
	}
	after := time.Now()
	if err := retry.Sleep(ctx, b.sizes.watchedFor); err != nil {
		return err
	}
	reads.stop()

	// 3. Compare the rates of the phases.
	b.Report.Add(rig.Figure{What: "rows backfilled while clients read, all nodes together", Nodes: n, Value: rig.PerSecond(r.walks.rows, r.walks.took), Unit: "rows/s",
		Detail: fmt.Sprintf("%.1f s, until all copies are there %.1f s", r.walks.took.Seconds(), r.whole.Seconds())})
	// The rate before the loss is the reference of the others.
	usual, _, _ := reads.rateBetween(begun, r.killedAt)
	for _, span := range []struct {
		when        string
		from, until time.Time
		target      string
	}{
		{"before the loss", begun, r.killedAt, ""},
		{"until the node is excluded", r.killedAt, r.excludedAt, "0.80x of before"},
		{"until all copies are there", r.excludedAt, r.wholeAt, "0.80x of before"},
		{"after", after, after.Add(b.sizes.watchedFor), ""},
	} {
		rate, took, failed := reads.rateBetween(span.from, span.until)
		b.Report.Add(rig.Figure{What: fmt.Sprintf("reads of what survivors own, %d clients, %s", loopClients, span.when), Nodes: n,
			Value: rate, Unit: "reads/s", Target: span.target,
			Detail: fmt.Sprintf("%.2fx of before; %s; %d failed; in %.1f s", rig.Ratio(rate, usual), took.String(), failed, span.until.Sub(span.from).Seconds())})
	}
	return nil
}
