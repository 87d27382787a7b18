// The flags of the suite, and the graph of links of one store.

// Package links measures the hyperlink store.
//
// It generates a web graph, loads it with the binary, opens the graph of its links in this
// process and adds figures (docs/BENCHMARKS.md). It measures files of links from elsewhere too. Then
// it measures the graph of a cluster of processes, and kills some of them.
package links

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	graphs "github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/lists"
)

// bench is one run of the suite.
type bench struct {
	rig.Rig
	pages, hosts    string // of the generated graph
	codecs, updates bool
	nodes           int // of the cluster
	nodePages       string
	linkCopies      int
	lose            int
}

// Suite defines the flags of the suite and returns the function that measures.
func Suite(f *flag.FlagSet) func(context.Context, []string) error {
	b := &bench{}
	b.Flags(f, "trefoil-bench-links", "some 4 GB for a million pages")
	f.StringVar(&b.pages, "pages", "1M", "pages of the generated graph; 0 is none")
	f.StringVar(&b.hosts, "hosts", "50k", "hosts of it")
	f.BoolVar(&b.codecs, "codecs", true, "measure the size in other codecs too")
	f.BoolVar(&b.updates, "updates", true, "measure updates too")
	f.IntVar(&b.nodes, "nodes", 5, "nodes of the cluster whose links are measured too; 0 is none")
	f.IntVar(&b.linkCopies, "link-copies", 2, "how many followers keep the cells of a partition")
	f.IntVar(&b.lose, "lose", 1, "how many nodes are killed at once in the end, so that one of three and two of five stay a majority")
	f.StringVar(&b.nodePages, "node-pages", "100k", "pages of the cluster's generated graph, of a twentieth as many hosts")
	return b.run
}

func (b *bench) run(ctx context.Context, files []string) error {
	if err := b.Begin(""); err != nil {
		return err
	}
	b.Report.Heading()

	// One store first, with a generated graph and with files; then a cluster.
	if b.pages != "0" {
		file, err := b.web(ctx, b.pages, b.hosts)
		if err != nil {
			return err
		}
		if err := b.measure(ctx, fmt.Sprintf("%s pages of %s hosts", b.pages, b.hosts), file, b.updates); err != nil {
			return err
		}
	}
	for _, file := range files {
		if err := b.measure(ctx, filepath.Base(file), file, false); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	if b.nodes == 0 {
		return nil
	}
	file, err := b.web(ctx, b.nodePages, "")
	if err != nil {
		return err
	}
	return b.cluster(ctx, b.nodes, b.nodePages+" pages", file)
}

// web returns the file of a generated graph.
func (b *bench) web(ctx context.Context, pages, hosts string) (string, error) {
	return b.File(fmt.Sprintf("web-%s-%s-%d.edges", pages, hosts, b.Seed), func(w io.Writer) error {
		args := []string{"generate", "--links", "--pages", pages, "--seed", fmt.Sprint(b.Seed)}
		if hosts != "" {
			args = append(args, "--hosts", hosts)
		}
		cmd := b.Command(ctx, args...)
		cmd.Stdout, cmd.Stderr = w, os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("generate: %w", err)
		}
		return nil
	})
}

// add adds a figure.
func (b *bench) add(target, what, format string, args ...any) {
	b.Report.Row(what, target, format, args...)
}

// linesRejected is the exit code of a load that left out some lines.
const linesRejected = 3

// measure loads a file and measures the graph of its links.
func (b *bench) measure(ctx context.Context, name, file string, updates bool) (err error) {
	b.add(" ", "**"+name+"**", "")

	// 1. Load the links into a store. Exit code 3 is no failure, because lines may be left out.
	dir, err := os.MkdirTemp(b.Dir, "store-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	data := filepath.Join(dir, "data")
	begun := time.Now()
	args := []string{"load", "--links", "--keep-going", "--data", data}
	if strings.Contains(file, "web-hosts") {
		args = append(args, "--format", "hosts")
	}
	var exit *exec.ExitError
	if _, err := rig.Output(b.Command(ctx, append(args, file)...)); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != linesRejected) {
		return err
	}
	loaded := time.Since(begun)
	// The store must watch the predicate, because a graph is kept by its change feed.
	db, err := store.Open(data, store.Options{Watched: []string{links.DefaultPredicate}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	// 2. The first opening assigns UIDs, and builds cells.
	o := graphs.Options{Dir: filepath.Join(dir, "cells")}
	graph, took, err := open(ctx, db, o)
	if err != nil {
		return err
	}
	stats, err := graph.Stats(ctx)
	if err != nil {
		return errors.Join(err, graph.Close())
	}
	b.add("", "load of the links as triples", "%s, %.1f s: %s links/s", count(stats.Links), loaded.Seconds(), rate(stats.Links, loaded))
	b.add("", "UIDs for all pages, and cells", "%s pages, %.1f s", count(stats.Pages), took.Seconds())
	// Close first: sizes opens graphs of the same store.
	if err := graph.Close(); err != nil {
		return err
	}
	if err := b.sizes(ctx, db, dir, stats); err != nil {
		return err
	}

	// 3. The second one only builds cells.
	graph, took, err = open(ctx, db, graphs.Options{Dir: filepath.Join(dir, "built")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, graph.Close()) }()
	b.add("10M", "cells from the store's scans", "%s links/s (%.1f s)", rate(stats.Links, took), took.Seconds())
	if err := b.reads(ctx, db, graph, stats); err != nil {
		return err
	}
	if err := b.ranks(ctx, graph, stats); err != nil {
		return err
	}
	// Updates come last, because they change the graph.
	if updates {
		return b.changes(ctx, graph)
	}
	return nil
}

// open opens the graph of a store and returns how long it took to have its cells.
func open(ctx context.Context, db *store.Store, o graphs.Options) (*graphs.Graph, time.Duration, error) {
	begun := time.Now()
	graph, err := graphs.Open(db, o)
	if err != nil {
		return nil, 0, err
	}
	if err := graph.AwaitCells(ctx); err != nil {
		return nil, 0, errors.Join(err, graph.Close())
	}
	return graph, time.Since(begun), nil
}

// sizes measures the size of cells: in the default codec, split in 16, and in other codecs.
func (b *bench) sizes(ctx context.Context, db *store.Store, dir string, stats links.Stats) error {
	variants := []struct {
		name, target string
		o            graphs.Options
	}{
		{"one cell", "under 1.0 on crawls", graphs.Options{CellPages: 1 << 30}},
		{"16 cells", "1.5 generated", graphs.Options{CellPages: int(stats.Pages)/16 + 1}},
		{"one cell, lists copied", "-", graphs.Options{CellPages: 1 << 30, Lists: lists.Options{Codec: lists.Reference}}},
		{"16 cells, lists copied", "-", graphs.Options{CellPages: int(stats.Pages)/16 + 1, Lists: lists.Options{Codec: lists.Reference}}},
	}
	if !b.codecs {
		variants = variants[:2]
	}
	// CSR: 4 bytes a destination, 8 bytes an offset of each page.
	b.add("bound", "plain CSR", "%.2f bytes a link each direction", float64(4*stats.Links+8*stats.Pages)/float64(stats.Links))

	// Each variant is built in its directory from the same store.
	for i, v := range variants {
		v.o.Dir = filepath.Join(dir, fmt.Sprint("variant", i))
		graph, _, err := open(ctx, db, v.o)
		if err != nil {
			return err
		}
		s, err := graph.Stats(ctx)
		// Sizes are read before the directory is removed, so that one variant is on disk at a time.
		if err := errors.Join(err, graph.Close(), os.RemoveAll(v.o.Dir)); err != nil {
			return err
		}
		b.add(v.target, "bytes a link, forward and backward, "+v.name, "%.2f, %.2f; a URL %.1f; %.1f a page in all",
			float64(s.ForwardBytes)/float64(s.Links), float64(s.BackwardBytes)/float64(s.Links),
			float64(s.URLBytes)/float64(s.Pages), float64(s.Bytes)/float64(s.Pages))
	}
	return nil
}

func rate(n int64, d time.Duration) string { return count(int64(float64(n) / d.Seconds())) }

// count writes a number with its size in words.
func count(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return fmt.Sprint(n)
}
