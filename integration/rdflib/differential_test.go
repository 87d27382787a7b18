// Random queries on trefoil and rdflib.

package rdflib

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

const (
	batchQueries  = 10 // that are asked together
	batchDatasets = 3  // of which each query is asked
	maxReported   = 5
)

// setting reads a number of the environment.
func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q is no number", name, text)
	}
	return n
}

// TestQueries compares random queries over random data, each with three datasets. TREFOIL_SEED repeats a
// run or begins another, TREFOIL_QUERIES says how many.
func TestQueries(t *testing.T) {
	seed, queries := setting(t, "TREFOIL_SEED", 1), setting(t, "TREFOIL_QUERIES", 250)
	if testing.Short() {
		queries = min(queries, 70)
	}
	t.Logf("TREFOIL_SEED=%d TREFOIL_QUERIES=%d", seed, queries)
	c := comparison{oracle: startOracle(t), store: openStore(t)}
	for n := 0; n*batchQueries < queries && c.failed < maxReported; n++ {
		c.batch(t, seed, n)
	}
	t.Logf("%d answers, %d of them not empty, %d that the oracle does not give", c.answers, c.full, c.unanswered)
	if c.unanswered*50 > c.answers {
		t.Errorf("the oracle does not give %d of %d answers; the last: %s", c.unanswered, c.answers, c.last)
	}
	if c.full*2 < c.answers {
		t.Errorf("only %d of %d answers are not empty", c.full, c.answers)
	}
}

// openStore opens a node's store in memory.
func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open("data", store.Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

type comparison struct {
	oracle *oracle
	store  *store.Store
	held   []triple.Triple // what the store has

	answers, full, unanswered, failed int
	last                              string
}

// batch compares some queries over some datasets, the n-th of a seed.
func (c *comparison) batch(t *testing.T, seed, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	zones := rng.IntN(2) == 0
	var j job
	var datasets [][]triple.Triple
	for range batchDatasets {
		data := dataset(rng, zones)
		datasets = append(datasets, data)
		j.Data = append(j.Data, encode(data))
	}
	var queries []query
	for k := range batchQueries {
		q := draw(datasets, zones, seed, n*batchQueries+k)
		queries = append(queries, q)
		j.Queries = append(j.Queries, q.String())
	}
	replies, err := c.oracle.ask(j)
	require.NoError(t, err)
	var failed []int
	for i, data := range datasets {
		c.hold(t, data)
		snapshot, err := c.store.Snapshot()
		require.NoError(t, err)
		sources := map[string]sparql.Source{"store": snapshot.Source(), "memory": memsource.New(data), "columns": sparqltest.WithColumns(memsource.New(data))}
		sources["changed columns"] = sparqltest.WithChangedColumns(data, func() bool { return rng.IntN(2) == 0 })
		for k, q := range queries {
			name, err := c.answer(t, q, sources, replies[i][k])
			if err != nil && !slices.Contains(failed, k) {
				c.failed++
				failed = append(failed, k)
				t.Errorf("TREFOIL_SEED=%d, batch %d, %s:\n%s", seed, n, name, c.smallest(q, data, err))
			}
		}
		snapshot.Close()
	}
}

// draw returns the n-th query of a seed: the first of three that has an answer
// over some dataset, or the last.
func draw(datasets [][]triple.Triple, zones bool, seed, n int) query {
	const attempts = 3
	var q query
	for attempt := range attempts {
		g := &generator{rng: rand.New(rand.NewPCG(uint64(seed), uint64(1+n)<<8+uint64(attempt))), zones: zones}
		q = g.query()
		if slices.ContainsFunc(datasets, func(data []triple.Triple) bool {
			got, err := run(memsource.New(data), q.String())
			return err != nil || got.full()
		}) {
			break
		}
	}
	return q
}

// answer compares a query's answers from all sources; it returns the name of the
// one that differs.
func (c *comparison) answer(t *testing.T, q query, sources map[string]sparql.Source, want reply) (string, error) {
	t.Helper()
	c.answers++
	if want.Error != "" {
		c.unanswered++
		c.last = want.Error + " for " + q.String()
		if testing.Verbose() {
			t.Log(c.last)
		}
		return "", nil
	}
	if want.result().full() {
		c.full++
	}
	for name, src := range sources {
		if err := compare(q, src, want); err != nil {
			return name, err
		}
	}
	return "", nil
}

// full reports whether there is anything in a result.
func (r result) full() bool {
	return len(r.rows) > 0 || len(r.graph) > 0 || r.boolean != nil && *r.boolean
}

// compare asks trefoil what the oracle answered.
func compare(q query, src sparql.Source, want reply) error {
	got, err := run(src, q.String())
	if err != nil {
		return err
	}
	return differ(q, got, want.result())
}

// hold makes data what the store has.
func (c *comparison) hold(t *testing.T, data []triple.Triple) {
	t.Helper()
	if _, err := store.Delete(context.Background(), c.store, c.held); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Add(context.Background(), c.store, data); err != nil {
		t.Fatal(err)
	}
	c.held = data
}

// smallest takes from a query and its data what the difference does not need, and
// describes what is left.
func (c *comparison) smallest(q query, data []triple.Triple, err error) string {
	fails := func(q query, data []triple.Triple) bool {
		replies, askErr := c.oracle.ask(job{Data: [][][][]string{encode(data)}, Queries: []string{q.String()}})
		if askErr != nil || replies[0][0].Error != "" {
			return false
		}
		failed := compare(q, memsource.New(data), replies[0][0])
		if failed != nil {
			err = failed
		}
		return failed != nil
	}
	if fails(q, data) {
		q = shrink(q, func(less query) bool { return fails(less, data) })
		for i := len(data) - 1; i >= 0; i-- {
			if less := slices.Delete(slices.Clone(data), i, i+1); fails(q, less) {
				data = less
			}
		}
		fails(q, data)
	}
	var b strings.Builder
	for _, tr := range data {
		fmt.Fprintln(&b, tr)
	}
	return fmt.Sprintf("%s\n%s%v", q, b.String(), err)
}
