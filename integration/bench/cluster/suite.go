// The flags, the sizes and the parts of the suite.

// Package cluster measures clusters of processes on this machine.
//
// All processes share the machine's processors. Hence a figure of n nodes counts as a multiple
// of the figure of one node in the same run. With -json each figure is a line of JSON as well.
// Stores are not kept.
package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/integration/bench/rig"
)

// bench is one run of the suite.
type bench struct {
	rig.Rig
	limit time.Duration // of a part
	nodes rig.Nodes
	sizes sizes
}

// sizes are the sizes and durations of the parts.
type sizes struct {
	writeNodes   []int
	batches      int           // of 1,000 triples, in one run
	writeTime    time.Duration // a run of writes ends after this time, even if batches are left
	loadNodes    []int
	triples      int64 // of load and reads
	readNodes    []int
	questions    int
	rebuilt      []int // numbers of nodes
	perMachine   int64 // triples of a rebuild, for each node
	inTotal      int64 // triples of a rebuild and of a growth, for all nodes together
	growFrom     int
	available    int // nodes
	kills        int // of each sort
	probedFor    time.Duration
	watchedFor   time.Duration // rates before and after
	machines     string        // of the simulation
	simulated    int64         // triples
	probedCount  int64         // triples that are stored while probes run
	workload     int64         // triples that an application begins with
	workloadTime time.Duration // of the measurement of an application
}

func fullSizes() sizes {
	return sizes{
		writeNodes: []int{1, 3, 5}, batches: 1000, writeTime: time.Minute,
		loadNodes: []int{1, 3}, triples: 10_000_000, readNodes: []int{1, 3, 5}, questions: 2000,
		rebuilt: []int{3, 5, 9, 16}, perMachine: 200_000, inTotal: 1_000_000, growFrom: 5,
		available: 5, kills: 5, probedFor: 15 * time.Second, watchedFor: 5 * time.Second,
		machines: "10,100,1000", simulated: 300_000, probedCount: 100_000,
		workload: 50_000, workloadTime: 15 * time.Second,
	}
}

// scaled multiplies the sizes of data. Durations and numbers of nodes stay.
func (s sizes) scaled(by float64) sizes {
	for _, n := range []*int64{&s.triples, &s.perMachine, &s.inTotal, &s.simulated, &s.probedCount, &s.workload} {
		*n = max(int64(float64(*n)*by), 1000)
	}
	s.batches = max(int(float64(s.batches)*by), 32)
	s.questions = max(int(float64(s.questions)*by), 50)
	return s
}

func (b *bench) parts() []rig.Part {
	return []rig.Part{{Name: "writes", Run: b.writes}, {Name: "load", Run: b.load}, {Name: "reads", Run: b.reads},
		{Name: "workload", Run: b.workload}, {Name: "rebuild", Run: b.rebuild}, {Name: "meanwhile", Run: b.readsMeanwhile},
		{Name: "growth", Run: b.growth}, {Name: "availability", Run: b.availability}, {Name: "simulation", Run: b.simulation}}
}

// Suite defines the flags of the suite and returns the function that measures.
func Suite(f *flag.FlagSet) func(context.Context, []string) error {
	// -nodes sets sizes when it is parsed, so that they must have their defaults before.
	b := &bench{sizes: fullSizes()}
	b.Flags(f, "trefoil-bench", "some 15 GB at full size")
	f.DurationVar(&b.limit, "limit", time.Hour, "the longest that a part may take")
	f.DurationVar(&b.nodes.IdleTime, "settle", 12*time.Second, "a cluster whose view does not change for this time is at rest")
	f.DurationVar(&b.nodes.FailureTimeout, "failure-timeout", 3*time.Second, "--failure-timeout of the nodes")
	f.StringVar(&b.nodes.Logs, "logs", "", "a `directory` for the nodes' logs")
	scale := f.Float64("scale", 1, "multiplies the sizes: 0.01 for a short run")
	f.Func("nodes", "numbers of nodes of the rebuilds; 3,5,9,16 by default", b.setNodes)
	lines := f.String("json", "", "`file` that each figure is appended to as a line of JSON")
	parts := f.String("parts", rig.Names(b.parts()), "which parts to run")
	return func(ctx context.Context, _ []string) error {
		b.sizes = b.sizes.scaled(*scale)
		if *lines == "" {
			return b.run(ctx, *parts)
		}
		file, err := os.OpenFile(*lines, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		b.Report.Lines = file
		if err := b.run(ctx, *parts); err != nil {
			file.Close()
			return err
		}
		return file.Close()
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
			return errors.New("numbers of at least 3 are needed, with commas between")
		}
		b.sizes.rebuilt = append(b.sizes.rebuilt, n)
	}
	return nil
}

func (b *bench) run(ctx context.Context, parts string) error {
	if err := b.Begin(""); err != nil {
		return err
	}
	if b.nodes.Logs != "" {
		if err := os.MkdirAll(b.nodes.Logs, 0o755); err != nil {
			return err
		}
	}
	return rig.RunParts(ctx, b.parts(), parts, b.limit, func(name string) { b.Report.Begin(name, name != "simulation") })
}

// cluster is a cluster under measurement.
type cluster struct {
	*rig.Cluster
	b *bench
}

// form starts a cluster. The caller must close it.
func (b *bench) form(ctx context.Context, n int) (*cluster, error) {
	c, err := b.Form(ctx, b.nodes, n)
	if err != nil {
		return nil, err
	}
	return &cluster{c, b}, nil
}

// filled forms a cluster, loads data and waits until it rests.
func (b *bench) filled(ctx context.Context, n int, triples int64) (c *cluster, file string, err error) {
	if file, err = b.Data(ctx, "lubm", triples); err != nil {
		return nil, "", err
	}
	if c, err = b.form(ctx, n); err != nil {
		return nil, "", err
	}
	if _, err = c.load(ctx, file); err == nil {
		_, err = c.Rest(ctx)
	}
	if err != nil {
		c.Close()
		return nil, "", err
	}
	return c, file, nil
}

// load loads a file in bulk through the first node.
func (c *cluster) load(ctx context.Context, file string) (rig.Loaded, error) {
	return c.b.Load(ctx, file, "--to", c.Machines[0].URL())
}

// ofOne returns a figure as a multiple of the one of a single node, in words.
func ofOne(value, one float64) string {
	return fmt.Sprintf("%.2fx of one node", rig.Ratio(value, one))
}
