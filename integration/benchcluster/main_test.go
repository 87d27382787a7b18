package main

import (
	"bufio"
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

	"github.com/trefoildb/trefoil/internal/testbinary"
)

// binary is the path of the trefoil that is tested.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	path, remove, err := testbinary.Trefoil(filepath.Join("..", ".."))
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

// tiny are sizes that tell nothing but that the command works.
func tiny() sizes {
	return sizes{
		writeNodes: []int{1, 3}, batches: 4, writeFor: 5 * time.Second,
		loadNodes: []int{1, 3}, triples: 2000, readNodes: []int{1, 3}, questions: 20,
		rebuilt: []int{3}, perMachine: 1000, inTotal: 2000, growFrom: 3,
		available: 3, kills: 1, probedFor: 3 * time.Second, watchedFor: 200 * time.Millisecond,
		machines: "10", simulated: 1000, probedCount: 1000, workload: 1000, workloadFor: 500 * time.Millisecond,
	}
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
		{"rebuild", []string{"until it is excluded", "until all copies are there", "rows walked for each core"}},
		// So little data may need no row to be walked.
		{"meanwhile", []string{"reads of what survivors own, 4 clients, until the node is excluded", "reads of what survivors own, 4 clients, after"}},
		{"growth", []string{"until it has its part", "reads by subject, 4 clients, before", "adds in batches"}},
		{"availability", []string{"the leader killed: the longest without writes of triples that it would hold", "another node killed: the longest without reads"}},
		{"simulation", nil},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			var table, lines bytes.Buffer
			b := &bench{trefoil: binary, dir: t.TempDir(), seed: 1, limit: 2 * time.Minute, settle: 300 * time.Millisecond, timeout: 3 * time.Second,
				sizes: tiny(), report: report{table: &table, lines: &lines}}
			if err := b.run(t.Context(), []string{part.name}); err != nil {
				t.Fatal(err)
			}
			t.Log(table.String())
			for _, what := range part.figures {
				mustHave(t, lines.Bytes(), part.name, what)
			}
			if part.figures == nil && !strings.Contains(table.String(), "versions max/mean") {
				t.Error("the simulation's table is not there")
			}
			left, err := os.ReadDir(b.dir)
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
	b := &bench{trefoil: binary, dir: t.TempDir(), timeout: 3 * time.Second}
	c, err := b.form(ctx, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	interrupt()
	for _, m := range c.machines {
		<-m.process.ended
	}
}

// A cluster that is not formed leaves nothing behind.
func TestInterruptedForming(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	b := &bench{trefoil: binary, dir: t.TempDir(), timeout: 3 * time.Second}
	if c, err := b.form(ctx, 2); err == nil {
		c.close()
		t.Fatal("a cluster is formed all the same")
	}
	left, err := os.ReadDir(b.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// mustHave demands a figure whose name has a text in it, above 0.
func mustHave(t *testing.T, lines []byte, part, what string) {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(lines))
	for {
		var f figure
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

// What nodes log is read as it is.
func TestParseEvent(t *testing.T) {
	log := `trefoil: serving d1 at http://127.0.0.1:7333
time=2026-11-21T07:24:35.764Z level=INFO msg="adopted a view" epoch=14 phase=idle members=3
time=2026-11-21T07:24:35.842Z level=INFO msg="proposing a view" epoch=15 phase=idle members=3 reason="5 segments \"are\" split"
time=2026-11-21T07:24:36.269Z level=INFO msg=walked epoch=16 rows=200000 repaired=51351
`
	var found []event
	for in := bufio.NewScanner(strings.NewReader(log)); in.Scan(); {
		if e, ok := parseEvent(in.Text()); ok {
			found = append(found, e)
		}
	}
	if len(found) != 2 || found[0].what != adopted || found[0].number("epoch") != 14 || found[0].fields["phase"] != "idle" {
		t.Fatalf("found %v", found)
	}
	want := time.Date(2026, 11, 21, 7, 24, 36, 269_000_000, time.UTC)
	if e := found[1]; e.what != walked || !e.at.Equal(want) || e.number("repaired") != 51351 {
		t.Errorf("found %v", e)
	}
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
