// Bench measures a trefoil binary on generated data and prints its figures as a
// Markdown table, for docs/BENCHMARKS.md:
//
//	go run ./integration/bench -trefoil bin/trefoil -dir /path/with/10GB
//
// Each figure stands beside what was asked for, and the bounds of the same run:
// what Pebble does with the same rows without trefoil, and how fast another
// parser decodes the same file. Data files are made once and kept in -dir.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/trefoildb/trefoil/integration/workload"
)

// bench is one run of the benchmark.
type bench struct {
	trefoil string // the binary
	dir     string
	triples int64 // of the LUBM-like data
	texts   int64 // of the text-heavy data
	seed    uint64
	report  report
}

func main() {
	b := &bench{}
	flag.StringVar(&b.trefoil, "trefoil", "bin/trefoil", "the binary to measure")
	flag.StringVar(&b.dir, "dir", filepath.Join(os.TempDir(), "trefoil-bench"), "where data and stores are kept; some 10 GB at the default sizes")
	flag.Int64Var(&b.triples, "triples", 10_000_000, "size of the LUBM-like data")
	flag.Int64Var(&b.texts, "texts", 1_000_000, "size of the text-heavy data")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of the data and of the questions")
	parts := flag.String("parts", "load,read,http,sparql,write,text,workload", "which parts to run")
	flag.Parse()
	if err := b.run(context.Background(), strings.Split(*parts, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, parts []string) error {
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	fmt.Printf("%s, %d processors, %s; seed %d, %d LUBM-like triples, %d text-heavy ones\n\n",
		cpuName(), runtime.NumCPU(), runtime.Version(), b.seed, b.triples, b.texts)
	b.report.begin()
	for _, part := range parts {
		f, ok := map[string]func(context.Context) error{
			"load": b.load, "read": b.read, "http": b.http, "sparql": b.sparql, "write": b.write, "text": b.text,
			"workload": b.workload,
		}[part]
		if !ok {
			return fmt.Errorf("no part %q", part)
		}
		if err := f(ctx); err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
	}
	return nil
}

// data returns the path of a generated file, which it makes where it is absent.
func (b *bench) data(ctx context.Context, kind string, triples int64) (path string, err error) {
	path = filepath.Join(b.dir, fmt.Sprintf("%s-%d-%d.nt", kind, triples, b.seed))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	g, err := workload.New(kind, b.seed, triples)
	if err != nil {
		return "", err
	}
	f, err := os.Create(path + ".new")
	if err != nil {
		return "", err
	}
	if _, err := g.Generate(ctx, f); err != nil {
		f.Close()
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return path, os.Rename(path+".new", path)
}

func (b *bench) store(name string) string { return filepath.Join(b.dir, "store-"+name) }

// cpuName returns the processor's name, or the architecture where it is not known.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
