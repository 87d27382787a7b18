// Data sets and ways to run a query.

// Package sparqltest has the common parts of the tests below sparql: data sets, queries, ways
// to run them, and temporary files in memory. These may fail on request.
package sparqltest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/source/sourcetest"
	"github.com/trefoildb/trefoil/triple"
)

// IRI returns an IRI of the scheme x.
func IRI(name string) triple.Term { return triple.NewIRI("x:" + name) }

// People returns n people with an age, a birthday, a name and a friend.
func People(n int) *memsource.Source {
	var all []triple.Triple
	for i := range n {
		s := IRI(fmt.Sprintf("p%05d", i))
		all = append(all,
			triple.Triple{Subject: s, Predicate: IRI("age"), Object: triple.NewTyped(fmt.Sprint(i%100), triple.XSDInteger)},
			triple.Triple{Subject: s, Predicate: IRI("born"), Object: triple.NewTyped(fmt.Sprintf("%04d-01-02", 1000+i%9000), triple.XSDDate)},
			triple.Triple{Subject: s, Predicate: IRI("name"), Object: triple.NewString(fmt.Sprintf("name %d", i))},
			triple.Triple{Subject: s, Predicate: IRI("knows"), Object: IRI(fmt.Sprintf("p%05d", (i*7+1)%n))},
		)
	}
	return memsource.New(all)
}

// Count runs a query and returns how many solutions it has, its plan, and its error.
func Count(ctx context.Context, src sparql.Source, text string, opts sparql.Options) (int, *explain.Plan, error) {
	result, err := sparql.Query(ctx, src, text, opts)
	if err != nil {
		return 0, nil, err
	}
	n := 0
	for _, err := range result.Rows() {
		if err != nil {
			return n, result.Plan(), err
		}
		n++
	}
	return n, result.Plan(), nil
}

// WithColumns returns a source with the columns of all its rows.
func WithColumns(src sparql.Source) columns.Source {
	set, err := columns.Build(context.Background(), src, 1<<40)
	if err != nil {
		panic(err) // a source of tests fails only if the test is wrong
	}
	return columns.With(src, columns.NewView(set, nil))
}

// WithChangedColumns returns a source of triples with columns that were built from others, and have changed
// since. pick says which triples are there from the beginning, and from which ones that are deleted are made.
func WithChangedColumns(all []triple.Triple, pick func() bool) columns.Source {
	// 1. The columns have some of the triples, and some that do not exist.
	exists := map[string]bool{}
	change := func(t triple.Triple, deleted bool) columns.Change {
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			panic(err) // the key was made from a triple
		}
		exists[string(key)] = !deleted
		return columns.Change{Terms: terms, Deleted: deleted}
	}
	var before []triple.Triple
	var changes []columns.Change
	for _, t := range all {
		if t.Graph.IsZero() {
			changes = append(changes, change(t, false))
		}
		if t.Graph.IsZero() && pick() {
			before = append(before, t)
		}
	}
	for i, t := range all {
		t.Object = all[(i*7+1)%len(all)].Object
		key, _ := triple.AppendKey(nil, triple.SPO, t)
		if t.Graph.IsZero() && !exists[string(key)] && pick() {
			before, changes = append(before, t), append(changes, change(t, true))
		}
	}
	set, err := columns.Build(context.Background(), memsource.New(before), 1<<40)
	if err != nil {
		panic(err) // a source of tests fails only if the test is wrong
	}
	// 2. The changes make them right, in two parts.
	some := len(changes) / 3
	view := columns.NewView(set, nil).Changed(changes[:some]).Changed(changes[some:])
	return columns.With(memsource.New(all), view)
}

// Lines returns the rows of a query, sorted, and its plan after the run.
func Lines(t sourcetest.TB, src sparql.Source, text string, opts sparql.Options) ([]string, string) {
	t.Helper()
	result, err := sparql.Query(context.Background(), src, text, opts)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out []string
	for row, err := range result.Rows() {
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, fmt.Sprint(row))
	}
	slices.Sort(out)
	return out, result.Plan().Text(true)
}

// Union returns options with the union of all graphs for the default graph.
func Union() (o sparql.Options) {
	o.UnionDefaultGraph = true
	return o
}

// Crowd returns n people whose properties repeat, lack and differ in length.
func Crowd(intN func(n int) int, n int) *memsource.Source {
	var all []triple.Triple
	for i := range n {
		s := IRI(fmt.Sprintf("p%05d", i))
		add := func(p string, o triple.Term) {
			all = append(all, triple.Triple{Subject: s, Predicate: IRI(p), Object: o})
		}
		add("age", triple.NewTyped(fmt.Sprint(intN(50)), triple.XSDInteger))
		for range intN(3) {
			add("knows", IRI(fmt.Sprintf("p%05d", intN(n))))
		}
		if intN(4) > 0 {
			add("name", triple.NewString(fmt.Sprintf("name %d", intN(n))))
		}
		if intN(50) == 0 {
			add("name", triple.NewString(strings.Repeat("long ", 60+intN(300))+fmt.Sprint(i)))
		}
		add("paid", triple.NewTyped(fmt.Sprintf("%d.%d", intN(100), intN(10)), triple.XSDDecimal))
	}
	return memsource.New(all)
}

// Answer returns the rows of a query, as they come, and its plan after the run.
func Answer(ctx context.Context, src sparql.Source, text string, opts sparql.Options) ([]string, *explain.Plan, error) {
	result, err := sparql.Query(ctx, src, text, opts)
	if err != nil {
		return nil, nil, err
	}
	var out []string
	for row, err := range result.Rows() {
		if err != nil {
			return out, result.Plan(), err
		}
		out = append(out, fmt.Sprint(row))
	}
	return out, result.Plan(), nil
}
