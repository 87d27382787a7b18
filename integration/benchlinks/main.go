// Benchlinks measures the hyperlink store: it generates a web graph, loads it with the
// program, opens the graph of its links in this process, and writes a table of figures
// (docs/LINKS.md). Files of links from elsewhere can be measured too; so is the graph of
// a cluster of processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/lists"
	"github.com/trefoildb/trefoil/links/urls"
	"github.com/trefoildb/trefoil/node"
	graphs "github.com/trefoildb/trefoil/node/links"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var b bench
	flag.StringVar(&b.trefoil, "trefoil", "bin/trefoil", "the `binary` to generate and load with")
	flag.StringVar(&b.dir, "dir", filepath.Join(os.TempDir(), "trefoil-bench-links"), "`directory` for data and stores; some 4 GB for a million pages")
	pages := flag.String("pages", "1M", "pages of the generated graph")
	hosts := flag.String("hosts", "50k", "hosts of it")
	flag.Uint64Var(&b.seed, "seed", 1, "`seed` of the graph and of what is asked")
	flag.BoolVar(&b.codecs, "codecs", true, "measure the size in other codecs too")
	flag.BoolVar(&b.updates, "updates", true, "measure updates too")
	flag.IntVar(&b.nodes, "nodes", 5, "nodes of the cluster whose links are measured too; 0 is none")
	flag.IntVar(&b.linkCopies, "link-copies", 2, "how many other nodes keep copies of the lists that a node reads")
	flag.IntVar(&b.lose, "lose", 1, "how many nodes are killed at once in the end, so that one of three and two of five stay a majority")
	nodePages := flag.String("node-pages", "100k", "pages of the cluster's generated graph, of a twentieth as many hosts")
	flag.Parse()
	if err := b.run(ctx, *pages, *hosts, *nodePages, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "benchlinks:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	trefoil, dir    string
	seed            uint64
	codecs, updates bool
	nodes           int
	linkCopies      int
	lose            int
}

func (b *bench) run(ctx context.Context, pages, hosts, nodePages string, files []string) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	fmt.Printf("%s, %d processors, seed %d\n\n| what | measured | asked |\n|---|---|---|\n", runtime.Version(), runtime.GOMAXPROCS(0), b.seed)
	if pages != "0" {
		file, err := b.web(ctx, pages, hosts)
		if err != nil {
			return err
		}
		if err := b.measure(ctx, fmt.Sprintf("%s pages of %s hosts", pages, hosts), file, b.updates); err != nil {
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
	file, err := b.web(ctx, nodePages, "")
	if err != nil {
		return err
	}
	return b.cluster(ctx, b.nodes, nodePages+" pages", file)
}

// web returns the file of a generated graph.
func (b *bench) web(ctx context.Context, pages, hosts string) (string, error) {
	file := filepath.Join(b.dir, fmt.Sprintf("web-%s-%s-%d.edges", pages, hosts, b.seed))
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		return file, err
	}
	return file, b.generate(ctx, file, pages, hosts)
}

func (b *bench) generate(ctx context.Context, file, pages, hosts string) (err error) {
	out, err := os.Create(file + ".part")
	if err != nil {
		return err
	}
	args := []string{"generate", "--links", "--pages", pages, "--seed", fmt.Sprint(b.seed)}
	if hosts != "" {
		args = append(args, "--hosts", hosts)
	}
	cmd := exec.CommandContext(ctx, b.trefoil, args...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := errors.Join(cmd.Run(), out.Close()); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return os.Rename(file+".part", file)
}

// add prints a figure.
func add(asked, what, format string, args ...any) {
	if asked == "" {
		asked = "-"
	}
	fmt.Printf("| %s | %s | %s |\n", what, fmt.Sprintf(format, args...), asked)
}

// measure loads a file and measures the graph of its links.
func (b *bench) measure(ctx context.Context, name, file string, updates bool) (err error) {
	fmt.Printf("| **%s** | | |\n", name)
	dir, err := os.MkdirTemp(b.dir, "store-")
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
	cmd := exec.CommandContext(ctx, b.trefoil, append(args, file)...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = io.Discard, &said
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 { // some lines were left out
			return fmt.Errorf("load: %w: %s", err, said.String())
		}
	}
	loaded := time.Since(begun)
	store, err := node.Open(data, node.Options{Feed: []string{links.DefaultPredicate}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	o := graphs.Options{Dir: filepath.Join(dir, "cells")}
	graph, took, err := open(ctx, store, o)
	if err != nil {
		return err
	}
	stats, err := graph.Stats(ctx)
	if err != nil {
		return errors.Join(err, graph.Close())
	}
	add("", "load of the links as triples", "%s, %.1f s: %s links/s", count(stats.Links), loaded.Seconds(), rate(stats.Links, loaded))
	add("", "UIDs for all pages, and cells", "%s pages, %.1f s", count(stats.Pages), took.Seconds())
	if err := graph.Close(); err != nil {
		return err
	}
	if err := b.sizes(ctx, store, dir, stats); err != nil {
		return err
	}
	graph, took, err = open(ctx, store, graphs.Options{Dir: filepath.Join(dir, "built")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, graph.Close()) }()
	add("10M", "cells from the store's scans", "%s links/s (%.1f s)", rate(stats.Links, took), took.Seconds())
	if err := b.reads(ctx, graph, stats); err != nil {
		return err
	}
	if err := b.ranks(ctx, graph, stats); err != nil {
		return err
	}
	if updates {
		return b.changes(ctx, graph)
	}
	return nil
}

// open opens the graph of a store and returns how long it took to have its cells.
func open(ctx context.Context, store *node.Store, o graphs.Options) (*graphs.Graph, time.Duration, error) {
	begun := time.Now()
	graph, err := graphs.Open(store, o)
	if err != nil {
		return nil, 0, err
	}
	if err := graph.Request(ctx); err != nil {
		return nil, 0, errors.Join(err, graph.Close())
	}
	return graph, time.Since(begun), nil
}

// sizes measures what cells take: in the default codec, split in 16, and in others.
func (b *bench) sizes(ctx context.Context, store *node.Store, dir string, stats links.Stats) error {
	variants := []struct {
		name, asked string
		o           graphs.Options
	}{
		{"one cell", "under 1.0 on crawls", graphs.Options{CellPages: 1 << 30}},
		{"16 cells", "1.5 generated", graphs.Options{CellPages: int(stats.Pages)/16 + 1}},
		{"one cell, nybbles as in the paper", "bound", graphs.Options{CellPages: 1 << 30, Lists: lists.Options{Codec: lists.Nybble, Stride: 32}}},
		{"one cell, lists copied", "-", graphs.Options{CellPages: 1 << 30, Lists: lists.Options{Codec: lists.Reference}}},
		{"16 cells, lists copied", "-", graphs.Options{CellPages: int(stats.Pages)/16 + 1, Lists: lists.Options{Codec: lists.Reference}}},
		{"one cell, URLs with a dictionary", "-", graphs.Options{CellPages: 1 << 30, URLs: urls.Options{Symbols: true}}},
	}
	if !b.codecs {
		variants = variants[:2]
	}
	add("bound", "plain CSR", "%.2f bytes a link each direction", float64(4*stats.Links+8*stats.Pages)/float64(stats.Links))
	for i, v := range variants {
		v.o.Dir = filepath.Join(dir, fmt.Sprint("variant", i))
		graph, _, err := open(ctx, store, v.o)
		if err != nil {
			return err
		}
		s, err := graph.Stats(ctx)
		if err := errors.Join(err, graph.Close(), os.RemoveAll(v.o.Dir)); err != nil {
			return err
		}
		add(v.asked, "bytes a link, forward and backward, "+v.name, "%.2f, %.2f; a URL %.1f; %.1f a page in all",
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
