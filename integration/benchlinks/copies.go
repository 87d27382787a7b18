// Copies of lists in a cluster: what they cost, and what is answered when nodes are lost.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/uid"
)

// copies measures the copies that the nodes keep, if they do, and kills some: node 0 and
// the last one, which is asked, stay.
func (b *bench) copies(ctx context.Context, c *nodes, g *client.Links, some []uid.UID) error {
	if b.linkCopies > 0 {
		if err := c.copied(ctx); err != nil {
			return err
		}
		size, err := c.copiesSize()
		if err != nil {
			return err
		}
		add("", "copies of lists on the disks of all nodes", "%s MB", count(size>>20))
	}
	if err := c.cost(ctx, g, b.seed, some); err != nil {
		return err
	}
	if len(c.processes) < 3 || b.lose == 0 {
		return nil
	}
	victims := make([]int, min(b.lose, len(c.processes)-2))
	for i := range victims {
		victims[i] = i + 1
	}
	return c.killed(ctx, g, some, victims, b.linkCopies > 0)
}

// metric returns a metric of a node that has no labels.
func (c *nodes) metric(ctx context.Context, i int, name string) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.addresses[i]+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("node %d has no metric %s", i, name)
}

// copied waits until all nodes that run have the copies that they keep.
func (c *nodes) copied(ctx context.Context) error {
	return eventually(ctx, func() error {
		for i, p := range c.processes {
			if p.ProcessState != nil {
				continue
			}
			epoch, err := c.metric(ctx, i, "trefoil_cluster_epoch")
			if err != nil {
				return err
			}
			if at, err := c.metric(ctx, i, "trefoil_links_copied_epoch"); err != nil || at != epoch {
				return errors.Join(err, fmt.Errorf("node %d has copies of epoch %g, not %g", i, at, epoch))
			}
		}
		return nil
	})
}

func (c *nodes) copiesSize() (size int64, err error) {
	for i := range c.processes {
		err := filepath.WalkDir(filepath.Join(c.data(i), "link-copies"), func(_ string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && d.IsDir() {
				return nil // a file that went meanwhile, or a node without copies
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				size += info.Size()
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

// used returns the processor time of all nodes so far, where Linux tells it.
func (c *nodes) used() (all time.Duration, err error) {
	const perSecond = 100 // clock ticks, on all of Linux's common machines
	for i, p := range c.processes {
		if p.ProcessState != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
		if err != nil {
			return 0, err
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			return 0, fmt.Errorf("node %d: no times in %q", i, text)
		}
		for _, field := range fields[11:13] { // in user and in system mode
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				return 0, err
			}
			all += time.Duration(n) * time.Second / perSecond
		}
	}
	return all, nil
}

const (
	// costTime is for how long the nodes are left alone, and for how long they are updated.
	costTime = 15 * time.Second
	// costRate is how many updates a second there are then, of costLinks links each.
	costRate, costLinks = 20, 50
)

// cost measures processor time at rest and while updates run.
func (c *nodes) cost(ctx context.Context, g *client.Links, seed uint64, some []uid.UID) error {
	share := func(what string, do func() error) error {
		before, err := c.used()
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := do(); err != nil {
			return err
		}
		after, err := c.used()
		took := time.Since(begun)
		add("", what, "%.1f%% of a processor", 100*(after-before).Seconds()/took.Seconds())
		return err
	}
	rest := func(d time.Duration) error {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
		return ctx.Err()
	}
	if err := rest(2 * costTime); err != nil { // what the load and the reads before have left behind
		return err
	}
	if err := share("all nodes at rest", func() error { return rest(costTime) }); err != nil {
		return err
	}
	urls, err := g.URLs(ctx, some[:1<<12])
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 1))
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

// killed kills nodes at once and measures for how long lists are not answered, and how
// fast they are then, while what the dead have read is not read by others.
func (c *nodes) killed(ctx context.Context, g *client.Links, some []uid.UID, victims []int, copied bool) error {
	for _, i := range victims {
		if err := c.processes[i].Process.Signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	begun := time.Now()
	for _, i := range victims {
		_ = c.processes[i].Wait() // its end is what was asked for
	}
	read := func(at int) error {
		_, err := g.Links(ctx, links.Forward, some[at:at+clusterBatch])
		return err
	}
	if err := eventually(ctx, func() error { return read(0) }); err != nil {
		return err
	}
	answered := time.Since(begun)
	what := fmt.Sprintf("%d of %d nodes", len(victims), c.running()+len(victims))
	add("", fmt.Sprintf("%d lists are answered after a kill of %s", clusterBatch, what), "%.2f s", answered.Seconds())
	if copied {
		var times []time.Duration
		again := time.Now()
		for at := clusterBatch; at+clusterBatch <= len(some) && time.Since(begun) < copiedFor; at += clusterBatch {
			one := time.Now()
			if err := read(at); err != nil {
				return err
			}
			times = append(times, time.Since(one))
		}
		if len(times) > 0 {
			add("", "lists, while they are away", "%s lists/s; %d of them in %.0f to %.0f ms", rate(int64(len(times)*clusterBatch), time.Since(again)),
				clusterBatch, slices.Min(times).Seconds()*1000, slices.Max(times).Seconds()*1000)
		}
	}
	if err := c.whole(ctx, c.running()); err != nil {
		return err
	}
	add("", "everything is regenerated", "after %.1f s", time.Since(begun).Seconds())
	if copied {
		if err := c.copied(ctx); err != nil {
			return err
		}
		add("", "everything is copied again", "after %.1f s", time.Since(begun).Seconds())
	}
	return nil
}

// copiedFor is until when after a kill lists come from copies: the nodes are not excluded
// before, or what they read is not regenerated.
const copiedFor = 5 * time.Second

func (c *nodes) running() (n int) {
	for _, p := range c.processes {
		if p.ProcessState == nil {
			n++
		}
	}
	return n
}
