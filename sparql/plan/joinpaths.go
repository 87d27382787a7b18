// Which path or function a join takes next.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// nextPath returns the index of the path or function of links to join next: the one with the fewest
// solutions for a row. bound is false if rows bind no end of it, and a later argument may.
func (j *joinPlan) nextPath() (best int, bound bool, err error) {
	rows := func(n algebra.Node) float64 {
		switch n := n.(type) {
		case *algebra.LinkJoin:
			return cost.LinkRows(n, j.in.Certain)
		case *algebra.TextJoin:
			var found float64
			if found, err = j.Estimator.TextRows(n); j.in.Certain.Has(n.Literal.Slot) {
				return min(found/cost.TextLiterals, 1)
			}
			return found
		default:
			if unboundPath(n, j.in.Certain) {
				return cost.LinkPages / 2
			}
			return pathFan
		}
	}
	// 1. Each one is asked once, because a function of links or text may read an index for it.
	least, fewest := j.paths[0], rows(j.paths[0])
	for i, n := range j.paths[1:] {
		if some := rows(n); some < fewest {
			best, least, fewest = i+1, n, some
		}
	}
	// 2. The best pages need their page, whatever their number.
	if n, ok := least.(*algebra.LinkJoin); ok && n.Function == ast.LinkPageRank {
		return best, cost.IsBound(n.Page, j.in.Certain), err
	}
	_, text := least.(*algebra.TextJoin) // it needs no binding
	return best, text || fewest < cost.LinkPages/2, err
}

// pathFan is the assumed number of solutions of a repeated path for a row with one end.
const pathFan = 10

func unboundPath(n algebra.Node, certain algebra.Set) bool {
	p := n.(*algebra.Path)
	return p.Subject.IsVar() && p.Object.IsVar() && !certain.Has(p.Subject.Slot) && !certain.Has(p.Object.Slot)
}

// bestFirst returns the argument of the join that gives the best pages first, if a query wants the first ones and
// finds them there sooner than by a sort of all rows; nil if there is none.
func (j *joinPlan) bestFirst() (best algebra.Node, err error) {
	i := slices.IndexFunc(j.paths, func(n algebra.Node) bool {
		if search, ok := n.(*algebra.TextJoin); ok {
			return j.WantsBestText(search, j.in)
		}
		call, ok := n.(*algebra.LinkJoin)
		return ok && j.Exec.Options.Links != nil && j.WantsBest(call, j.in)
	})
	if j.Want.Sequence == nil || i < 0 {
		return nil, nil
	}
	if len(j.patterns) == 0 {
		return j.paths[i], nil
	}
	var pages float64
	if search, ok := j.paths[i].(*algebra.TextJoin); ok {
		pages, err = j.Estimator.TextRows(search)
	} else {
		pages, err = j.Estimator.ScoredPages(&j.paths[i].(*algebra.LinkJoin).LinkCall)
	}
	if err != nil {
		return nil, err
	}
	rows, err := j.Estimator.PatternRows(j.patterns, j.At.Graphs, j.At.Ranges)
	if err != nil {
		return nil, err
	}
	// Of the best pages, a share of rows/pages is in the patterns. Each costs a look-up.
	if float64(j.Want.Sequence.Top)*pages/rows < rows {
		return j.paths[i], nil
	}
	return nil, nil
}
