// EXISTS in a FILTER: a semi-join if its pattern may start from many rows.

package optimize

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// exists takes EXISTS out of the conditions of a filter. The other conditions go first, because they cost less.
func exists(p *passes, n algebra.Node, _ place) algebra.Node {
	f, ok := n.(*algebra.Filter)
	if !ok {
		return n
	}
	var tests []*ast.Exists
	var others []ast.Expr
	for _, cond := range algebra.SplitConds(f.Conds) {
		if x, ok := cond.(*ast.Exists); ok && p.vars.Structural(p.body.Exists[x.Index].Pattern) {
			tests = append(tests, x)
			continue
		}
		others = append(others, cond)
	}
	if len(tests) == 0 {
		return n
	}
	input := f.Input
	if len(others) > 0 {
		input = &algebra.Filter{Input: input, Conds: others}
	}
	return &algebra.SemiJoin{Input: input, Tests: tests}
}
