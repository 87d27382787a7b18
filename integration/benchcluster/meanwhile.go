package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// readsMeanwhile measures reads of what survivors own, through survivors, before a
// node is killed, until it is excluded, until all copies are there, and after.
func (b *bench) readsMeanwhile(ctx context.Context) error {
	n := b.sizes.growFrom
	triples := b.sizes.perMachine * int64(n)
	c, file, err := b.filled(ctx, n, triples)
	if err != nil {
		return err
	}
	defer c.close()
	l, err := c.layout(ctx)
	if err != nil {
		return err
	}
	leader, _, err := c.leader(ctx)
	if err != nil {
		return err
	}
	asked, err := sample(file, b.sizes.questions, rand.New(rand.NewPCG(b.seed, 3)))
	if err != nil {
		return err
	}
	victim, untouched, err := l.spare(leader, asked)
	if err != nil {
		return err
	}
	survivors := slices.DeleteFunc(c.live(), func(m *machine) bool { return m == victim })
	reads := b.readLoop(ctx, untouched, survivors)
	defer reads.stop()
	if err := pause(ctx, b.sizes.watchedFor); err != nil { // warms up
		return err
	}
	begun := time.Now()
	if err := pause(ctx, b.sizes.watchedFor); err != nil {
		return err
	}
	r, err := c.lose(ctx, victim)
	if err != nil {
		return err
	}
	if _, err := c.calm(ctx, math.Inf(1)); err != nil {
		return err
	}
	after := time.Now()
	if err := pause(ctx, b.sizes.watchedFor); err != nil {
		return err
	}
	reads.stop()
	b.report.add(figure{What: "rows walked while clients read, all nodes together", Nodes: n, Value: perSecond(r.walks.rows, r.walks.took), Unit: "rows/s",
		Detail: fmt.Sprintf("%.1f s, until all copies are there %.1f s", r.walks.took.Seconds(), r.whole.Seconds())})
	usual, _, _ := reads.between(begun, r.killedAt)
	for _, span := range []struct {
		when        string
		from, until time.Time
		asked       string
	}{
		{"before the loss", begun, r.killedAt, ""},
		{"until the node is excluded", r.killedAt, r.excludedAt, "0.80x of before"},
		{"until all copies are there", r.excludedAt, r.wholeAt, "0.80x of before"},
		{"after", after, after.Add(b.sizes.watchedFor), ""},
	} {
		rate, took, failed := reads.between(span.from, span.until)
		b.report.add(figure{What: fmt.Sprintf("reads of what survivors own, %d clients, %s", loopClients, span.when), Nodes: n,
			Value: rate, Unit: "reads/s", Asked: span.asked,
			Detail: fmt.Sprintf("%.2fx of before; %s; %d failed; in %.1f s", ratio(rate, usual), took.show(), failed, span.until.Sub(span.from).Seconds())})
	}
	return nil
}
