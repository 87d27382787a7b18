// The graph of links of a cluster: processes on this machine.

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/trefoildb/trefoil/client"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// nodes are the processes of a cluster.
type nodes struct {
	addresses []string
	processes []*exec.Cmd
	dir       string
}

// startNodes starts so many nodes, which form a cluster.
func (b *bench) startNodes(ctx context.Context, n int) (c *nodes, err error) {
	c = &nodes{}
	if c.dir, err = os.MkdirTemp(b.dir, "nodes-"); err != nil {
		return nil, err
	}
	for i := range n {
		address, err := freeAddress()
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		args := []string{"serve", "--data", c.data(i), "--listen", address, "--failure-timeout", "5s", "--link-copies", fmt.Sprint(b.linkCopies)}
		if i > 0 {
			args = append(args, "--join", c.addresses[0])
		}
		cmd := exec.Command(b.trefoil, args...)
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.addresses, c.processes = append(c.addresses, address), append(c.processes, cmd)
		if err := c.whole(ctx, i+1); err != nil {
			return nil, errors.Join(err, c.stop())
		}
	}
	return c, nil
}

func (c *nodes) data(i int) string { return filepath.Join(c.dir, fmt.Sprint(i)) }

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// stop ends the processes and removes their data.
func (c *nodes) stop() error {
	for _, p := range c.processes {
		_ = p.Process.Signal(syscall.SIGKILL) // it may have ended
		_ = p.Wait()
	}
	return os.RemoveAll(c.dir)
}

func (c *nodes) client(i int) (*client.Client, error) {
	return client.New("http://"+c.addresses[i], client.Options{})
}

// patience is how long the cluster has to come to rest.
const patience = 10 * time.Minute

// eventually calls do until it returns nil.
func eventually(ctx context.Context, do func() error) error {
	deadline := time.Now().Add(patience)
	for {
		err := do()
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// whole waits until so many nodes are members and nothing is being moved.
func (c *nodes) whole(ctx context.Context, n int) error {
	asked, err := c.client(0) // which is not killed
	if err != nil {
		return err
	}
	return eventually(ctx, func() error {
		s, err := asked.Status(ctx)
		switch {
		case err != nil:
			return err
		case n > 1 && (len(s.Members) != n || s.Phase != "idle" || s.Rebuilding > 0 || s.Waiting != ""):
			return fmt.Errorf("%d of %d members, %s, waiting: %s", len(s.Members), n, s.Phase, s.Waiting)
		}
		return nil
	})
}

// cluster measures the graph of links of a cluster of processes, which share this
// machine's processors.
func (b *bench) cluster(ctx context.Context, n int, name, file string) (err error) {
	fmt.Printf("| **%s, %d nodes** | | |\n", name, n)
	c, err := b.startNodes(ctx, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	begun := time.Now()
	load := exec.CommandContext(ctx, b.trefoil, "load", "--links", "--to", "http://"+c.addresses[0], file)
	if out, err := load.CombinedOutput(); err != nil {
		return fmt.Errorf("load: %w: %s", err, out)
	}
	loaded := time.Since(begun)
	asked, err := c.client(n - 1)
	if err != nil {
		return err
	}
	g := asked.Links()
	var stats links.Stats
	named := time.Now()
	err = eventually(ctx, func() error { // the members find the pages beside
		now, err := g.Stats(ctx)
		if now.Pages != stats.Pages {
			stats, named = now, time.Now()
		}
		if err == nil && (stats.Pages == 0 || time.Since(named) < namedFor) {
			err = errors.New("pages without UIDs")
		}
		return err
	})
	if err != nil {
		return err
	}
	add("", "load of the links through one node", "%s, %.1f s: %s links/s", count(stats.Links), loaded.Seconds(), rate(stats.Links, loaded))
	add("", "UIDs for all pages, in the background", "%s pages, after %.1f s", count(stats.Pages), (named.Sub(begun) - loaded).Seconds())
	some, err := b.drawn(ctx, g, stats.Pages)
	if err != nil {
		return err
	}
	if err := c.whole(ctx, n); err != nil { // what the load has split is moved meanwhile
		return err
	}
	if b.linkCopies > 0 {
		if err := c.copied(ctx); err != nil {
			return err
		}
		add("", "copies of all lists on other nodes", "after %.1f s", (time.Since(begun) - loaded).Seconds())
	}
	if err := c.lists(ctx, g, some[:1<<18]); err != nil {
		return err
	}
	var ranking links.Ranking
	took, err := best(func() (err error) {
		ranking, err = g.Rank(ctx, links.RankRequest{Algorithm: links.SALSA, Pages: some[:2800], In: 10, Out: 10, Mode: sample.ModeConsistent, Top: 10})
		return err
	})
	if err != nil {
		return err
	}
	add("100 ms", "SALSA of 2,800 roots, a = b = 10, end to end", "%.1f ms (%s pages, %s links)", took.Seconds()*1000, count(int64(ranking.Vertices)), count(int64(ranking.Edges)))
	return b.copies(ctx, c, g, some)
}

// namedFor is for how long no page must have got a UID for all to have one.
const namedFor = 10 * time.Second

// clusterBatch is how many pages one request asks for.
const clusterBatch = 1 << 13

// lists measures batched lists, as they are first read and when they are kept.
func (c *nodes) lists(ctx context.Context, g *client.Links, some []uid.UID) error {
	read := func() error {
		for at := 0; at+clusterBatch <= len(some); at += clusterBatch {
			if _, err := g.Links(ctx, links.Forward, some[at:at+clusterBatch]); err != nil {
				return err
			}
		}
		return nil
	}
	n := int64(len(some) / clusterBatch * clusterBatch)
	begun := time.Now()
	if err := read(); err != nil {
		return err
	}
	first := time.Since(begun)
	took, err := best(read)
	if err != nil {
		return err
	}
	add("1 M", "batched GetLinks by a client of one node", "%s lists/s (the first time %s)", rate(n, took), rate(n, first))
	const single = 1000
	took, err = best(func() error {
		for _, u := range some[:single] {
			if _, err := g.Links(ctx, links.Forward, []uid.UID{u}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	add("", "GetLinks of one page", "%d us", took.Microseconds()/single)
	return nil
}
