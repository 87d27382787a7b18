// The naive evaluation of property paths.

package sparql_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/source/memsource"
	"github.com/trefoildb/trefoil/sparql/sparqltest"
	"github.com/trefoildb/trefoil/triple"
)

// path draws a property path.
func path(t *rapid.T, depth int) string {
	kind := rapid.IntRange(0, 7).Draw(t, "path")
	if depth == 0 {
		kind = 0
	}
	switch kind {
	case 1:
		return "(" + path(t, depth-1) + "/" + path(t, depth-1) + ")"
	case 2:
		return "(" + path(t, depth-1) + "|" + path(t, depth-1) + ")"
	case 3:
		return "(^" + path(t, depth-1) + ")"
	case 4, 5, 6:
		return "(" + path(t, depth-1) + ")" + rapid.SampledFrom([]string{"*", "+", "?"}).Draw(t, "repeat")
	case 7:
		return "!(<x:p>|^<x:q>)"
	}
	return rapid.SampledFrom([]string{"<x:p>", "<x:q>", "<x:r>"}).Draw(t, "predicate")
}

type pair [2]triple.Term

// path evaluates a path by the pairs of section 18.4: those of all terms in the graph or at the
// path's ends.
func (n naive) path(p *algebra.Path) []expr.Terms {
	terms := map[triple.Term]bool{}
	for _, tr := range n.graph {
		terms[tr.Subject], terms[tr.Object] = true, true
	}
	for _, end := range []algebra.VarOrTerm{p.Subject, p.Object} {
		if !end.IsVar() {
			terms[end.Term] = true
		}
	}
	var out []expr.Terms
	for _, pair := range n.pairs(p.Path, terms) {
		row := make(expr.Terms, n.width)
		ok := true
		for i, end := range []algebra.VarOrTerm{p.Subject, p.Object} {
			switch {
			case !end.IsVar():
				ok = ok && end.Term == pair[i]
			case row[end.Slot].IsZero():
				row[end.Slot] = pair[i]
			default:
				ok = ok && row[end.Slot] == pair[i]
			}
		}
		if ok {
			out = append(out, row)
		}
	}
	return out
}

// pairs returns the pairs connected by a path, with repetitions.
func (n naive) pairs(p ast.Path, terms map[triple.Term]bool) []pair {
	var out []pair
	switch p := p.(type) {
	case *ast.PathIRI:
		for _, tr := range n.graph {
			if tr.Predicate == triple.NewIRI(p.IRI) {
				out = append(out, pair{tr.Subject, tr.Object})
			}
		}
	case *ast.PathInverse:
		for _, x := range n.pairs(p.Arg, terms) {
			out = append(out, pair{x[1], x[0]})
		}
	case *ast.PathSequence:
		out = n.pairs(p.Parts[0], terms)
		for _, part := range p.Parts[1:] {
			var longer []pair
			for _, x := range out {
				for _, y := range n.pairs(part, terms) {
					if x[1] == y[0] {
						longer = append(longer, pair{x[0], y[1]})
					}
				}
			}
			out = longer
		}
	case *ast.PathAlternative:
		for _, part := range p.Parts {
			out = append(out, n.pairs(part, terms)...)
		}
	case *ast.PathNegated:
		for _, tr := range n.graph {
			not := map[bool]bool{}
			some := map[bool]bool{}
			for _, member := range p.Set {
				some[member.Inverse] = true
				not[member.Inverse] = not[member.Inverse] || tr.Predicate == triple.NewIRI(member.IRI)
			}
			if (some[false] || !some[true]) && !not[false] {
				out = append(out, pair{tr.Subject, tr.Object})
			}
			if some[true] && !not[true] {
				out = append(out, pair{tr.Object, tr.Subject})
			}
		}
	case *ast.PathRepeat:
		steps := n.pairs(p.Arg, terms)
		seen := map[pair]bool{}
		if p.Min == 0 {
			for term := range terms {
				seen[pair{term, term}] = true
			}
		}
		for _, x := range steps {
			seen[x] = true
		}
		for grown := !p.Once; grown; {
			grown = false
			for x := range seen {
				for _, y := range steps {
					if z := (pair{x[0], y[1]}); x[1] == y[0] && !seen[z] {
						seen[z], grown = true, true
					}
				}
			}
		}
		for x := range seen {
			out = append(out, x)
		}
	default:
		panic(fmt.Sprintf("naive: %T", p))
	}
	return out
}

// TestPairsAlike: repetitions between all nodes give the same pairs over columns, and their number.
func TestPairsAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// 1. Draw a graph with cycles and literals, and a repetition.
		var all []triple.Triple
		nodes := rapid.IntRange(1, 100).Draw(t, "nodes")
		for range rapid.IntRange(0, 60).Draw(t, "triples") {
			one := triple.Triple{
				Subject:   sparqltest.IRI(fmt.Sprint("n", rapid.IntRange(1, nodes).Draw(t, "s"))),
				Predicate: sparqltest.IRI(rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "p")),
				Object:    sparqltest.IRI(fmt.Sprint("n", rapid.IntRange(1, nodes).Draw(t, "o"))),
			}
			if rapid.IntRange(0, 9).Draw(t, "literal") == 0 {
				one.Object = number(nodes)
			}
			all = append(all, one)
		}
		src := memsource.New(all)
		edges := rapid.SampledFrom([]string{"<x:p>", "^<x:p>", "<x:p>|<x:q>", "^<x:p>|<x:q>", "<x:none>", "<x:p>/<x:q>", "^(<x:p>|<x:p>)"}).Draw(t, "edges")
		body := "{ ?a (" + edges + ")" + rapid.SampledFrom([]string{"+", "*", "?"}).Draw(t, "repeat") + " ?b }"
		// 2. Compare the pairs and their number, with all columns and with some.
		want, _ := sparqltest.Lines(t, src, "SELECT ?a ?b "+body, sparql.Options{})
		for _, columns := range []sparql.Source{sparqltest.WithColumns(src), someColumns(t, src, all), changedColumns(t, all)} {
			got, plan := sparqltest.Lines(t, columns, "SELECT ?a ?b "+body, sparql.Options{})
			if !slices.Equal(got, want) {
				t.Fatalf("%s\ngot  %v\nwant %v\n%s", body, got, want, plan)
			}
			counts, plan := sparqltest.Lines(t, columns, "SELECT (COUNT(*) AS ?n) (COUNT(?b) AS ?m) "+body, sparql.Options{})
			if n := number(len(want)); len(counts) != 1 || counts[0] != fmt.Sprint([]triple.Term{n, n}) {
				t.Fatalf("%s\ngot  %v\nwant %d\n%s", body, counts, len(want), plan)
			}
		}
	})
}
