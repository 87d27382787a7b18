// Copies of lists in a cluster: their cost, and the answers when nodes are lost.

package links

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/retry"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// copies measures the copies that the nodes keep, and kills some nodes. The first node and the
// last one, which answers, stay.
func (n *nodes) copies(ctx context.Context, g *client.Links, some []uid.UID) error {
	if err := n.copied(ctx); err != nil {
		return err
	}
	size, err := n.copiesSize()
	if err != nil {
		return err
	}
	n.b.add("", "cells on the disks of all nodes", "%s MB", count(size>>20))
	if err := n.cost(ctx, g, some); err != nil {
		return err
	}
	if len(n.Machines) < 3 || n.b.lose == 0 {
		return nil
	}
	return n.lost(ctx, g, some, n.Machines[1:1+min(n.b.lose, len(n.Machines)-2)])
}

// metric returns a metric of a node that has no labels.
func metric(ctx context.Context, m *rig.Machine, name string) (float64, error) {
	body, err := rig.Get(ctx, http.DefaultClient, m.URL()+"/metrics")
	if err != nil {
		return 0, err
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("%s has no metric %s", m.Address, name)
}

// copied waits until each live node has the cells that it must hold.
func (n *nodes) copied(ctx context.Context) error {
	return waitFor(ctx, func(ctx context.Context) error {
		for _, m := range n.Live() {
			if missing, err := metric(ctx, m, "trefoil_links_partitions_missing"); err != nil || missing > 0 {
				return errors.Join(err, fmt.Errorf("%s lacks %g partitions", m.Address, missing))
			}
		}
		return nil
	})
}

func (n *nodes) copiesSize() (total int64, err error) {
	for _, m := range n.Machines {
		size, err := rig.DirSize(filepath.Join(m.Dir, "links"))
		if err != nil {
			return 0, err
		}
		total += size
	}
	return total, nil
}

const (
	// costTime is the duration of a measurement of processor time.
	costTime = 15 * time.Second
	// costRate is the number of updates a second, of costLinks links each.
	costRate, costLinks = 20, 50
)

// cost measures processor time at rest and while updates run.
func (n *nodes) cost(ctx context.Context, g *client.Links, some []uid.UID) error {
	share := func(what string, do func() error) error {
		used, begun := n.CPU(nil), time.Now()
		if err := do(); err != nil {
			return err
		}
		n.b.add("", what, "%.1f%% of a processor", 100*(n.CPU(nil)-used).Seconds()/time.Since(begun).Seconds())
		return nil
	}

	// 1. At rest. The load and the reads must be over, with what they leave to do.
	if err := retry.Sleep(ctx, 2*costTime); err != nil {
		return err
	}
	if err := share("all nodes at rest", func() error { return retry.Sleep(ctx, costTime) }); err != nil {
		return err
	}

	// 2. With updates at a fixed rate.
	urls, err := g.URLs(ctx, some[:1<<12])
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(n.b.Seed, 1))
	return share(fmt.Sprintf("all nodes with %s links a second added", count(costRate*costLinks)), func() error {
		ticker := time.NewTicker(time.Second / costRate)
		defer ticker.Stop()
		for range int(costTime.Seconds() * costRate) {
			change := links.Change{Kind: links.AddLinks, Source: urls[random.IntN(len(urls))]}
			for range costLinks {
				change.Targets = append(change.Targets, urls[random.IntN(len(urls))])
			}
			if _, err := g.Update(ctx, []links.Change{change}); err != nil {
				return err
			}
			<-ticker.C
		}
		return nil
	})
}

// copiedTime is how long after a kill lists come from copies for certain: the nodes are not
// excluded before, or their lists are not regenerated.
const copiedTime = 5 * time.Second

// lost kills nodes at once. It measures the time until lists are answered, and the rate of
// lists until other nodes read what the victims have read.
func (n *nodes) lost(ctx context.Context, g *client.Links, some []uid.UID, victims []*rig.Machine) error {
	copied := n.b.linkCopies > 0
	read := func(ctx context.Context, at int) error {
		_, err := g.Links(ctx, links.Forward, some[at:at+clusterBatch])
		return err
	}

	// 1. The first answer after the kill.
	begun := time.Now()
	n.Kill(victims...)
	if err := waitFor(ctx, func(ctx context.Context) error { return read(ctx, 0) }); err != nil {
		return err
	}
	what := fmt.Sprintf("%d of %d nodes", len(victims), len(n.Machines))
	n.b.add("", fmt.Sprintf("%d lists are answered after a kill of %s", clusterBatch, what), "%.2f s", time.Since(begun).Seconds())

	// 2. Answers from copies, while the victims are still members.
	if copied {
		var times []time.Duration
		first := time.Now()
		for at := clusterBatch; at+clusterBatch <= len(some) && time.Since(begun) < copiedTime; at += clusterBatch {
			one := time.Now()
			if err := read(ctx, at); err != nil {
				return err
			}
			times = append(times, time.Since(one))
		}
		if len(times) > 0 {
			n.b.add("", "lists, while they are away", "%s lists/s; %d of them in %.0f to %.0f ms", rate(int64(len(times)*clusterBatch), time.Since(first)),
				clusterBatch, rig.Millis(slices.Min(times)), rig.Millis(slices.Max(times)))
		}
	}

	// 3. The repair.
	if err := n.waitIdle(ctx); err != nil {
		return err
	}
	n.b.add("", "everything is regenerated", "after %.1f s", time.Since(begun).Seconds())
	if copied {
		if err := n.copied(ctx); err != nil {
			return err
		}
		n.b.add("", "everything is copied again", "after %.1f s", time.Since(begun).Seconds())
	}
	return nil
}
