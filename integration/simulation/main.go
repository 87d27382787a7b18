// The command: its options, and the simulation of one setting.

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// options are the settings of a simulation.
type options struct {
	machines   []int
	triples    int64
	segments   int   // for each machine
	partitions int   // least number for each machine; the cluster's number is never below the default
	held       int64 // bytes of rows on each machine
	network    int64 // bits a second of each machine
	seed       uint64
}

func main() {
	var o options
	list := flag.String("machines", "10,100,1000", "numbers of machines")
	flag.Int64Var(&o.triples, "triples", 300_000, "triples of the sample")
	flag.IntVar(&o.segments, "segments", 64, "segments for each machine")
	flag.IntVar(&o.partitions, "partitions", 20, "partitions for each machine, at least")
	flag.Int64Var(&o.held, "held", 1<<40, "bytes that each machine holds")
	flag.Int64Var(&o.network, "network", 10_000_000_000, "bits a second of each machine's network")
	flag.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flag.Parse()
	for _, s := range strings.Split(*list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 3 || n >= trie.MaxMachines {
			fmt.Fprintf(os.Stderr, "simulation: %q machines, not 3 to %d\n", s, trie.MaxMachines-1)
			os.Exit(2)
		}
		o.machines = append(o.machines, n)
	}
	if err := run(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "simulation:", err)
		os.Exit(1)
	}
}

// run writes a line for each number of machines.
func run(w io.Writer, o options) error {
	s, err := newSample(o.triples, o.seed)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d triples of the shape of LUBM, seed %d; each machine holds %.3g bytes and has a network of %.3g bit/s\n\n",
		len(s.keys), o.seed, float64(o.held), float64(o.network))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "machines\tsegments\tversions max/mean\textras/triple\textras max/mean\tloss: bytes sent\tsenders max/mean\tseconds\tread/filled\theld/filled\tgrowth: moved x n\tseconds\tread/filled\theld/filled\t")
	for _, n := range o.machines {
		r, err := s.simulate(n, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%d\t%d\t%.2f\t%.3f\t%.2f\t%.3g\t%.2f\t%.0f\t%.2f\t%.1f\t%.2f\t%.0f\t%.2f\t%.1f\t\n", n, r.segments, r.versions, r.extras, r.extraSpread,
			r.lossBytes, r.lossSpread, r.lossSeconds, r.lossRead, r.lossHeld, r.growthShare, r.growthSeconds, r.growthRead, r.growthHeld)
	}
	return table.Flush()
}

// result is one line.
type result struct {
	segments                           int
	versions, extras, extraSpread      float64
	lossBytes, lossSpread, lossSeconds float64
	growthShare, growthSeconds         float64
	// Rows read by backfills, and rows on their machines, for each filled row.
	lossRead, lossHeld, growthRead, growthHeld float64
}

func (s *sample) simulate(n int, o options) (r result, err error) {
	// 1. Place the segments on n machines, on one less and on one more.
	placed := trie.PlacementOptions{Partitions: max(trie.DefaultPartitions, (n+1)*o.partitions)}
	segments, err := s.split(n*o.segments, placed.Partitions)
	if err != nil {
		return r, err
	}
	machines := machineIDs(n + 1)
	layout := func(base *trie.Placement, ids []trie.MachineID) (l recovery.Layout, err error) {
		l.Trie = segments
		if base == nil {
			l.Placement, err = trie.NewPlacement(ids, placed)
			return l, err
		}
		l.Placement, err = base.Adapt(ids, placed)
		return l, err
	}
	now, err := layout(nil, machines[:n])
	if err != nil {
		return r, err
	}
	smaller, err := layout(now.Placement, machines[1:n])
	if err != nil {
		return r, err
	}
	larger, err := layout(now.Placement, machines)
	if err != nil {
		return r, err
	}
	// 2. Measure the balance at rest.
	b, err := s.balance(now)
	if err != nil {
		return r, err
	}
	// Each row of the sample stands for this many bytes of the cluster.
	each := float64(o.held) * float64(n) / float64(b.versions.total()+b.extras.total())
	r.segments = segments.Len()
	r.versions, r.extraSpread = b.versions.spread(n), b.extras.spread(n)
	r.extras = float64(b.extras.total()) / float64(len(s.keys))
	// 3. Measure the loss of a machine, and then the growth by one.
	loss, err := s.change(now, smaller, machines[0])
	if err != nil {
		return r, err
	}
	r.lossBytes = float64(loss.sent.total()) * each
	r.lossSpread = loss.sent.spread(n - 1)
	r.lossSeconds = loss.seconds(each, o.network)
	growth, err := s.change(now, larger)
	if err != nil {
		return r, err
	}
	r.growthShare = float64(growth.sent.total()+growth.local.total()) / float64(b.versions.total()+b.extras.total()) * float64(n+1)
	r.growthSeconds = growth.seconds(each, o.network)
	if r.lossRead, r.lossHeld, err = s.perFilled(loss, now, smaller, machines[0]); err != nil {
		return r, err
	}
	r.growthRead, r.growthHeld, err = s.perFilled(growth, now, larger)
	return r, err
}

// perFilled returns the rows read in a change, and the rows of the reading machines, for each
// filled row.
func (s *sample) perFilled(t traffic, base, target recovery.Layout, dead ...trie.MachineID) (read, held float64, err error) {
	x, err := s.reading(base, target, dead...)
	filled := float64(t.sent.total() + t.local.total())
	return float64(x.read) / filled, float64(x.held) / filled, err
}

// seconds returns the time of the machine that sends or receives most.
func (t traffic) seconds(bytesEach float64, network int64) float64 {
	most := int64(0)
	for _, l := range []load{t.sent, t.received} {
		for _, rows := range l {
			most = max(most, rows)
		}
	}
	return float64(most) * bytesEach * 8 / float64(network)
}

// machineIDs returns n IDs, the same ones each time.
func machineIDs(n int) (ids []trie.MachineID) {
	for i := range n {
		ids = append(ids, trie.MachineIDOf([16]byte{byte(i >> 8), byte(i), 0x74}))
	}
	return ids
}
