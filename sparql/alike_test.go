// Tests of equal answers over equal graphs.

package sparql_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// TestGraphsAlike: GRAPH ?g must be the union of the graphs one by one, even if its pattern has
// ?g. A graph by its name must give the same as the graph in place of the default one.
func TestGraphsAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []triple.Triple
		nodes := []triple.Term{sparqltest.IRI("n1"), sparqltest.IRI("n2"), sparqltest.IRI("g1")}
		objects := append(slices.Clone(nodes), triple.NewTyped("1", triple.XSDInteger), triple.NewTyped("3", triple.XSDInteger), triple.NewString(strings.Repeat("long", 300)))
		for range rapid.IntRange(3, 30).Draw(t, "triples") {
			all = append(all, triple.Triple{
				Subject:   rapid.SampledFrom(nodes).Draw(t, "s"),
				Predicate: rapid.SampledFrom([]triple.Term{sparqltest.IRI("p"), sparqltest.IRI("q"), sparqltest.IRI("r")}).Draw(t, "p"),
				Object:    rapid.SampledFrom(objects).Draw(t, "o"),
				Graph:     rapid.SampledFrom([]triple.Term{sparqltest.IRI("g1"), sparqltest.IRI("g1"), sparqltest.IRI("g2"), sparqltest.IRI("g3")}).Draw(t, "g"),
			})
		}
		var src sparql.Source = memsource.New(all)
		switch rapid.IntRange(0, 2).Draw(t, "columns") {
		case 1:
			src = sparqltest.WithColumns(src)
		case 2:
			src = sparqltest.WithChangedColumns(all, func() bool { return rapid.Bool().Draw(t, "before") })
		}
		inside := strings.ReplaceAll(group(t, 2, place{}), "?d", "?g")
		ask := func(text string, opts sparql.Options) []string {
			got, _, err := sparqltest.Answer(context.Background(), src, "SELECT ?a ?b ?c ?g "+text, opts)
			if err != nil && strings.Contains(err.Error(), "in scope already") {
				t.Skip(err)
			}
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			slices.Sort(got)
			return got
		}
		var each []string
		names := map[string]bool{}
		for _, one := range all {
			names[one.Graph.Value()] = true
		}
		for _, g := range slices.Sorted(maps.Keys(names)) {
			named := ask("{ GRAPH <"+g+"> { "+inside+"} }", sparql.Options{})
			if from := ask("FROM <"+g+"> { "+inside+"}", sparql.Options{}); !slices.Equal(from, named) {
				t.Fatalf("over %v\nGRAPH <%s> { %s}\n%v\nwant %v", all, g, inside, named, from)
			}
			each = append(each, ask("{ { GRAPH <"+g+"> { "+inside+"} } VALUES ?g { <"+g+"> } }", sparql.Options{})...)
		}
		slices.Sort(each)
		if got := ask("{ GRAPH ?g { "+inside+"} }", sparql.Options{}); !slices.Equal(got, each) {
			t.Fatalf("over %v\nGRAPH ?g { %s}\ngot  %v\nwant %v", all, inside, got, each)
		}
		merged := ask("FROM <x:g1> FROM <x:g2> FROM <x:g3> { "+inside+"}", sparql.Options{})
		if got := ask("{ "+inside+"}", sparqltest.Union()); !slices.Equal(got, merged) {
			t.Fatalf("over %v\n{ %s} of all graphs\ngot  %v\nwant %v", all, inside, got, merged)
		}
	})
}

// TestModifiersAlike: a count, the first rows of an order and distinct rows have plans of their
// own. Their results must be those computed from all rows, for any pattern.
func TestModifiersAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []triple.Term{sparqltest.IRI("n1"), sparqltest.IRI("n2"), sparqltest.IRI("n3"), sparqltest.IRI("n4"), sparqltest.IRI("n5"), sparqltest.IRI("n6")}
		objects := append(slices.Clone(nodes), triple.NewTyped("2.0", triple.XSDDecimal), triple.NewString(strings.Repeat("long", 300)),
			triple.NewTyped("P1D", triple.XSD+"duration"), triple.NewLang("a", "en"), triple.NewString("a"))
		for i := range 10 {
			objects = append(objects, triple.NewTyped(fmt.Sprint(2*i+1), triple.XSDInteger))
		}
		var all []triple.Triple
		for range rapid.IntRange(3, 60).Draw(t, "triples") {
			all = append(all, triple.Triple{
				Subject:   rapid.SampledFrom(nodes).Draw(t, "s"),
				Predicate: rapid.SampledFrom([]triple.Term{sparqltest.IRI("p"), sparqltest.IRI("q"), sparqltest.IRI("r")}).Draw(t, "p"),
				Object:    rapid.SampledFrom(objects).Draw(t, "o"),
			})
		}
		var src sparql.Source = memsource.New(all)
		switch rapid.IntRange(0, 2).Draw(t, "columns") {
		case 1:
			src = sparqltest.WithColumns(src)
		case 2:
			src = sparqltest.WithChangedColumns(all, func() bool { return rapid.Bool().Draw(t, "before") })
		}
		inside := group(t, 1, place{links: true})
		options := sparql.Options{}
		options.Links = sparqltest.NewWeb(4, func(from, to int) bool { return rapid.Bool().Draw(t, "link") })
		ask := func(text string) []string {
			got, _, err := sparqltest.Answer(context.Background(), src, "PREFIX links: <urn:trefoil:links:> "+text, options)
			if err != nil && strings.Contains(err.Error(), "in scope already") {
				t.Skip(err)
			}
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			return got
		}
		check := func(one string, got, want []string) {
			if !slices.Equal(got, want) {
				t.Fatalf("over %v\n%s\ngot  %v\nwant %v", all, one, got, want)
			}
		}
		rows := ask("SELECT ?a ?b ?c { " + inside + "}")
		if len(rows) > 5000 {
			return
		}
		count := "SELECT (COUNT(*) AS ?n) { " + inside + "}"
		check(count, ask(count), []string{fmt.Sprint([]triple.Term{triple.NewTyped(fmt.Sprint(len(rows)), triple.XSDInteger)})})
		v := rapid.SampledFrom([]string{"?a", "?b", "?c", "?d"}).Draw(t, "v")
		order := rapid.SampledFrom([]string{"DESC(", "ASC("}).Draw(t, "order")
		sorted := ask("SELECT " + v + " { " + inside + "} ORDER BY " + order + "COALESCE(" + v + "))")
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		top := fmt.Sprintf("SELECT %s { %s} ORDER BY %s%s) LIMIT %d", v, inside, order, v, limit)
		check(top, ask(top), sorted[:min(limit, len(sorted))])
		distinct := "SELECT DISTINCT " + v + " { " + inside + "} ORDER BY " + order + v + ")"
		check(distinct, ask(distinct), slices.Compact(slices.Clone(sorted)))
		bound := slices.DeleteFunc(slices.Compact(slices.Clone(sorted)), func(s string) bool { return s == fmt.Sprint([]triple.Term{{}}) })
		number := "SELECT (COUNT(DISTINCT " + v + ") AS ?n) { " + inside + "}"
		check(number, ask(number), []string{fmt.Sprint([]triple.Term{triple.NewTyped(fmt.Sprint(len(bound)), triple.XSDInteger)})})
	})
}
