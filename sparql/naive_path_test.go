// The naive evaluation of property paths.

package sparql_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
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
