// Benchcluster measures clusters of processes of a trefoil binary on this machine,
// and prints its figures as a Markdown table, for docs/BENCHMARKS.md:
//
//	go run ./integration/benchcluster -trefoil bin/trefoil -dir /path/with/50GB [-parts writes,load] [-scale 0.01] [-json F]
//
// All processes share the machine's processors, so that figures mean something as
// multiples of those of one node in the same run. With -json each figure is a line
// of JSON as well. Data files are made once and kept in -dir; stores are not kept.
// Processes that it started are killed when it ends, also by an interrupt.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench is one run of the benchmark.
type bench struct {
	trefoil string // the binary
	dir     string
	seed    uint64
	limit   time.Duration // of a part
	settle  time.Duration // a cluster whose view does not change for so long is at rest
	timeout time.Duration // --failure-timeout of the nodes
	sizes   sizes
	logs    string // a directory that the nodes' logs are kept in; "" for none
	report  report
}

// sizes are how large and how long the parts are.
type sizes struct {
	writeNodes  []int
	batches     int           // of 1,000 triples, in one run
	writeFor    time.Duration // a run of writes ends after so long, whatever it has done
	loadNodes   []int
	triples     int64 // of load and reads
	readNodes   []int
	questions   int
	rebuilt     []int // numbers of nodes
	perMachine  int64 // triples of a rebuild, for each node
	inTotal     int64 // triples of a rebuild and of a growth, for all nodes together
	growFrom    int
	available   int // nodes
	kills       int // of each sort
	probedFor   time.Duration
	watchedFor  time.Duration // rates before and after
	machines    string        // of the simulation
	simulated   int64         // triples
	probedCount int64         // triples that are there while probes run
	workload    int64         // triples that an application begins with
	workloadFor time.Duration // an application is measured
}

func fullSizes() sizes {
	return sizes{
		writeNodes: []int{1, 3, 5}, batches: 1000, writeFor: time.Minute,
		loadNodes: []int{1, 3}, triples: 10_000_000, readNodes: []int{1, 3, 5}, questions: 2000,
		rebuilt: []int{3, 5, 9, 16}, perMachine: 200_000, inTotal: 1_000_000, growFrom: 5,
		available: 5, kills: 5, probedFor: 15 * time.Second, watchedFor: 5 * time.Second,
		machines: "10,100,1000", simulated: 300_000, probedCount: 100_000,
		workload: 50_000, workloadFor: 15 * time.Second,
	}
}

// scaled multiplies what grows with data; times and numbers of nodes stay.
func (s sizes) scaled(by float64) sizes {
	for _, n := range []*int64{&s.triples, &s.perMachine, &s.inTotal, &s.simulated, &s.probedCount, &s.workload} {
		*n = max(int64(float64(*n)*by), 1000)
	}
	s.batches = max(int(float64(s.batches)*by), 32)
	s.questions = max(int(float64(s.questions)*by), 50)
	return s
}

func main() {
	b := &bench{sizes: fullSizes()}
	flag.StringVar(&b.trefoil, "trefoil", "bin/trefoil", "the binary to measure")
	flag.StringVar(&b.dir, "dir", filepath.Join(os.TempDir(), "trefoil-bench"), "where data and stores are; some 15 GB at full size")
	flag.Uint64Var(&b.seed, "seed", 1, "seed of the data and of the questions")
	flag.DurationVar(&b.limit, "limit", time.Hour, "the longest that a part may take")
	flag.DurationVar(&b.settle, "settle", 12*time.Second, "a cluster whose view does not change for so long is at rest")
	flag.DurationVar(&b.timeout, "failure-timeout", 3*time.Second, "--failure-timeout of the nodes")
	flag.StringVar(&b.logs, "logs", "", "a directory that the nodes' logs are kept in")
	scale := flag.Float64("scale", 1, "by what the sizes are multiplied: 0.01 for a short run")
	rebuilt := flag.String("nodes", "", "numbers of nodes of the rebuilds; 3,5,9,16 by default")
	lines := flag.String("json", "", "file that each figure is appended to as a line of JSON")
	parts := flag.String("parts", "writes,load,reads,workload,rebuild,meanwhile,growth,availability,simulation", "which parts to run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	b.sizes = b.sizes.scaled(*scale)
	err := b.setNodes(*rebuilt)
	if err == nil {
		err = b.toFile(*lines, func() error { return b.run(ctx, strings.Split(*parts, ",")) })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcluster:", err)
		stop()
		os.Exit(1)
	}
}

func (b *bench) setNodes(list string) error {
	if list == "" {
		return nil
	}
	b.sizes.rebuilt = nil
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 3 {
			return fmt.Errorf("-nodes %s: numbers of at least 3, with commas between", list)
		}
		b.sizes.rebuilt = append(b.sizes.rebuilt, n)
	}
	return nil
}

// toFile calls do while figures go to standard output and, as JSON, to a file.
func (b *bench) toFile(name string, do func() error) error {
	b.report = report{table: os.Stdout, lines: io.Discard}
	if name == "" {
		return do()
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	b.report.lines = f
	if err := do(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (b *bench) run(ctx context.Context, parts []string) error {
	trefoil, err := filepath.Abs(b.trefoil)
	if err != nil {
		return err
	}
	b.trefoil = trefoil
	if _, err := os.Stat(trefoil); err != nil {
		return fmt.Errorf("-trefoil: %w (make build makes it)", err)
	}
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	if b.logs != "" {
		if err := os.MkdirAll(b.logs, 0o755); err != nil {
			return err
		}
	}
	fmt.Fprintf(b.report.table, "%s, %d processors, %s; seed %d\n", cpuName(), runtime.NumCPU(), runtime.Version(), b.seed)
	for _, name := range parts {
		part, ok := map[string]func(context.Context) error{
			"writes": b.writes, "load": b.load, "reads": b.reads, "workload": b.workload, "rebuild": b.rebuild, "meanwhile": b.readsMeanwhile,
			"growth": b.growth, "availability": b.availability, "simulation": b.simulation,
		}[name]
		if !ok {
			return fmt.Errorf("no part %q", name)
		}
		b.report.begin(name)
		timed, cancel := context.WithTimeoutCause(ctx, b.limit, fmt.Errorf("it took longer than -limit %s", b.limit))
		err := part(timed)
		if err != nil && context.Cause(timed) != nil {
			err = fmt.Errorf("%w (%w)", context.Cause(timed), err)
		}
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

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
