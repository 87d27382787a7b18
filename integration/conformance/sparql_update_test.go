// The W3C suites of SPARQL updates, in memory.

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	sparqlparser "github.com/trefoildb/trefoil/sparql/parser"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/update"
	"github.com/trefoildb/trefoil/triple"
)

// updateKnown are the update tests that do not pass, as evalKnown has them.
var updateKnown = map[string]string{}

// dataset is what update tests run on: a store of any kind.
type dataset interface {
	// source returns the state, until the next apply.
	source(t *testing.T) sparql.Source
	apply(t *testing.T, c *update.Changes)
	triples(t *testing.T) []triple.Triple
}

// memory is a dataset in a set.
type memory map[triple.Triple]bool

func newMemory(triples []triple.Triple) memory {
	m := memory{}
	for _, tr := range triples {
		m[tr] = true
	}
	return m
}

func (m memory) source(*testing.T) sparql.Source { return memsource.New(slices.Collect(maps.Keys(m))) }

func (m memory) triples(*testing.T) []triple.Triple { return slices.Collect(maps.Keys(m)) }

func (m memory) apply(_ *testing.T, c *update.Changes) {
	for tr := range m {
		if c.ClearAll || c.ClearDefault && tr.Graph.IsZero() || slices.Contains(c.ClearGraphs, tr.Graph) {
			delete(m, tr)
		}
	}
	for tr := range c.Deletes() {
		delete(m, tr)
	}
	for tr := range c.Adds() {
		m[tr] = true
	}
}

func TestSPARQLUpdate(t *testing.T) {
	runUpdateTests(t, func(_ *testing.T, triples []triple.Triple) dataset { return newMemory(triples) })
}

// runUpdateTests runs all update tests, each over a dataset that begin makes.
func runUpdateTests(t *testing.T, begin func(t *testing.T, triples []triple.Triple) dataset) {
	total, passed, known := 0, 0, 0
	for _, test := range append(Load(t, "sparql/sparql11"), Load(t, "sparql/sparql12")...) {
		if test.Type != "UpdateEvaluationTest" {
			continue
		}
		total++
		name := filepath.Base(test.Dir) + "/" + test.ID
		t.Run(name, func(t *testing.T) {
			err := runUpdateTest(t, evalTest{Test: test}, begin)
			reason, isKnown := updateKnown[name]
			switch {
			case err == nil && isKnown:
				t.Errorf("listed as known to fail (%s), but it passes", reason)
			case err == nil:
				passed++
			case isKnown:
				known++
				t.Logf("known to fail: %s", reason)
			default:
				t.Errorf("%s: %v", test.Comment, err)
			}
		})
	}
	t.Logf("%d passed, %d known to fail", passed, known)
	if total != 68 && !t.Failed() {
		t.Errorf("%d tests, want 68", total)
	}
}

// updateState is a state of the dataset in the index.
type updateState struct {
	Request   string
	Data      []string
	GraphData []struct{ Graph, Label string }
}

func runUpdateTest(t *testing.T, e evalTest, begin func(t *testing.T, triples []triple.Triple) dataset) error {
	t.Helper()
	before, request := e.state(t, e.RawAction)
	want, _ := e.state(t, e.RawResult)
	text, err := os.ReadFile(filepath.Join(e.root, e.Dir, request))
	require.NoError(t, err)
	seed := uint64(1)
	opts := sparql.Options{
		Parser: sparqlparser.Options{Base: e.base(request)},
		Options: exec.Options{Uint64: func() uint64 {
			seed = seed*6364136223846793005 + 1442695040888963407
			return seed
		}},
	}
	prepared, err := sparql.PrepareUpdate(string(text), opts)
	if err != nil {
		return err
	}
	data := begin(t, before)
	changes, err := prepared.Run(context.Background(), data.source(t))
	if err != nil {
		return err
	}
	data.apply(t, changes)
	got := data.triples(t)
	same, err := Isomorphic(got, want)
	if err == nil && !same {
		err = fmt.Errorf("in\n%s\ngot\n%s\nwant\n%s", text, lines(got), lines(want))
	}
	return err
}

// state reads a state of the dataset, and the name of the request's file.
func (e evalTest) state(t *testing.T, raw json.RawMessage) ([]triple.Triple, string) {
	t.Helper()
	var s updateState
	require.NoError(t, json.Unmarshal(raw, &s))
	var all []triple.Triple
	for _, file := range s.Data {
		all = append(all, e.load(t, file, triple.Term{})...)
	}
	for _, g := range s.GraphData {
		all = append(all, e.load(t, g.Graph, triple.NewIRI(g.Label))...)
	}
	return all, s.Request
}
