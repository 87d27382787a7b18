// Tests of all parts, with clusters of real processes.

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/integration/bench/rig"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// binary is the path of the trefoil that is tested.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	path, remove, err := testbinary.Trefoil(filepath.Join("..", "..", ".."))
	if err == nil {
		defer remove()
		binary = path
	}
	code := 1
	if err == nil {
		if code = m.Run(); code == 0 {
			err = goleak.Find()
		}
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return code
}

// tiny are sizes for a test of the command. Their figures mean nothing.
func tiny() sizes {
	return sizes{
		writeNodes: []int{1, 3}, batches: 4, writeTime: 5 * time.Second,
		loadNodes: []int{1, 3}, triples: 2000, readNodes: []int{1, 3}, questions: 20,
		rebuilt: []int{3}, perMachine: 1000, inTotal: 2000, growFrom: 3,
		available: 3, kills: 1, probedFor: 3 * time.Second, watchedFor: 200 * time.Millisecond,
		machines: "10", simulated: 1000, probedCount: 1000, workload: 1000, workloadTime: 500 * time.Millisecond,
	}
}

func newBench(t *testing.T) *bench {
	return &bench{Rig: rig.Rig{Trefoil: binary, Dir: t.TempDir(), Seed: 1}, limit: 2 * time.Minute,
		nodes: rig.Nodes{IdleTime: 300 * time.Millisecond, FailureTimeout: 3 * time.Second}, sizes: tiny()}
}

// Every part runs on clusters of real processes and gives the figures that it is
// for, which are what they say. Nothing is left behind: no process, no store.
func TestParts(t *testing.T) {
	for _, part := range []struct {
		name    string
		figures []string // of which each must be there, and be more than nothing
	}{
		{"writes", []string{"to one node", "to all nodes"}},
		{"load", []string{"without a server", "through a node", "tables on all disks"}},
		{"reads", []string{"from its owner", "from another node", "ordered scan", "count of everything", "LUBM 9"}},
		{"workload", []string{"photo site, 1000 triples, 8 clients", "photo site, find", "library, 1000 triples, 8 clients", "library, add"}},
		{"rebuild", []string{"until it is excluded", "until all copies are there", "rows backfilled for each core"}},
		// With so little data a backfill may walk no row.
		{"meanwhile", []string{"reads of what survivors own, 4 clients, until the node is excluded", "reads of what survivors own, 4 clients, after"}},
		{"growth", []string{"until it has its part", "reads by subject, 4 clients, before", "adds in batches"}},
		{"availability", []string{"the leader killed: the longest without writes of triples that it would hold", "another node killed: the longest without reads"}},
		{"simulation", nil},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			var table, lines bytes.Buffer
			b := newBench(t)
			b.Report = rig.Report{Table: &table, Lines: &lines}
			if err := b.run(t.Context(), part.name); err != nil {
				t.Fatal(err)
			}
			t.Log(table.String())
			for _, what := range part.figures {
				mustHave(t, lines.Bytes(), part.name, what)
			}
			if part.figures == nil && !strings.Contains(table.String(), "versions max/mean") {
				t.Error("the simulation's table is not there")
			}
			left, err := os.ReadDir(b.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(left, func(e os.DirEntry) bool { return filepath.Ext(e.Name()) != ".nt" }); i >= 0 {
				t.Errorf("%s is left", left[i].Name())
			}
		})
	}
}

// When the command is interrupted, the nodes that it started end.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	b := newBench(t)
	c, err := b.form(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	interrupt()
	for _, m := range c.Machines {
		<-m.Process.Ended()
	}
}

// A cluster that is not formed leaves nothing behind.
func TestInterruptedForming(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	b := newBench(t)
	if c, err := b.form(ctx, 2); err == nil {
		c.Close()
		t.Fatal("a cluster is formed all the same")
	}
	left, err := os.ReadDir(b.Dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// mustHave demands a figure whose name has a text in it, above 0.
func mustHave(t *testing.T, lines []byte, part, what string) {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(lines))
	for {
		var f rig.Figure
		if err := in.Decode(&f); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if f.Part == part && strings.Contains(f.What, what) && f.Value > 0 && f.Nodes > 0 && f.Unit != "" {
			return
		}
	}
	t.Errorf("no figure of %q that is more than nothing", what)
}

// The outage is the longest time without success, also where it does not end.
func TestOutage(t *testing.T) {
	from := time.Unix(100, 0)
	at := func(seconds float64, err error) probe {
		ended := from.Add(time.Duration(seconds * float64(time.Second)))
		return probe{attempt: attempt{begun: ended.Add(-time.Second), ended: ended, err: err}}
	}
	failed := errors.New("refused")
	for _, c := range []struct {
		name    string
		probes  []probe
		without time.Duration
		failed  int
		over    bool
	}{
		{"before it and after it", []probe{at(-1, failed), at(1, nil), at(2, failed), at(4, nil), at(9.5, nil), at(11, failed)}, 5500 * time.Millisecond, 1, true},
		{"out of order", []probe{at(9.9, nil), at(5, nil), at(2, nil)}, 4900 * time.Millisecond, 0, true},
		{"never over", []probe{at(1, nil), at(2, failed)}, 9 * time.Second, 1, false},
		{"nothing", nil, 10 * time.Second, 0, false},
	} {
		o := outageOf(c.probes, from, from.Add(10*time.Second))
		if o.without != c.without || o.failed != c.failed || o.over != c.over {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
}
