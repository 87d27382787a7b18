// How many rows a node has by itself, about.

package plan

import (
	"math"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
)

// pathRows is the assumed number of rows of a repeated path from a term.
const pathRows = 250

// patternRows returns about how many rows the smallest of some patterns has.
func (e *estimator) patternRows(patterns []algebra.TriplePattern, at scope) (float64, error) {
	list := make([]candidate, len(patterns))
	for i := range patterns {
		p := &patterns[i]
		spans, err := e.withCandidates(p, at.graphs, algebra.Set{}, at.ranges)
		if err != nil {
			return 0, err
		}
		list[i].pat = newPattern(p.Subject, p.Predicate, p.Object, at.graphs, spans)
		list[i].column = e.column(list[i].pat)
	}
	if err := e.survey(list, 0); err != nil {
		return 0, err
	}
	least := math.Inf(1)
	for i := range list {
		least = min(least, list[i].rows)
	}
	return least, nil
}

// rowsOf returns a guess of the rows of a node by itself, from its smallest parts; infinity if
// nothing is known. It guesses each node once, because the joins within a node need guesses of its
// parts again: without that the time would be quadratic in the depth of a query.
func (e *estimator) rowsOf(n algebra.Node, at scope) (float64, error) {
	if rows, ok := e.guessed[n]; ok {
		return rows, nil
	}
	if err := e.exec.Check(); err != nil {
		return 0, err
	}
	rows, err := e.guessRows(n, at)
	if err == nil {
		e.guessed[n] = rows
	}
	return rows, err
}

// guessRows is rowsOf for a node that has no guess.
func (e *estimator) guessRows(n algebra.Node, at scope) (float64, error) {
	switch n := n.(type) {
	// 1. Leaves.
	case *algebra.BGP:
		return e.patternRows(n.Patterns, at)
	case *algebra.Table:
		return float64(len(n.Rows)), nil
	case *algebra.Path:
		if _, repeats := n.Path.(*ast.PathRepeat); repeats && n.Subject.IsVar() != n.Object.IsVar() {
			return pathRows, nil
		}
	case *algebra.LinkJoin:
		return linkRows(n, algebra.Set{}), nil
	case *algebra.TextJoin:
		return e.textRows(n)
	// 2. A join has about the rows of its smallest argument, a union those of all.
	case *algebra.Join:
		least := math.Inf(1)
		for _, arg := range n.Args {
			rows, err := e.rowsOf(arg, at)
			if err != nil {
				return 0, err
			}
			least = min(least, rows)
		}
		return least, nil
	case *algebra.Union:
		sum := 0.0
		for _, arg := range n.Args {
			rows, err := e.rowsOf(arg, at)
			if err != nil {
				return 0, err
			}
			sum += rows
		}
		return sum, nil
	// 3. Operators over one input keep its rows or have fewer.
	case *algebra.Slice:
		rows, err := e.rowsOf(n.Input, at)
		if n.Limit != ast.NoLimit {
			rows = min(rows, float64(n.Limit))
		}
		return rows, err
	case *algebra.Group:
		if len(n.Keys) == 0 {
			return 1, nil
		}
		return e.rowsOf(n.Input, at)
	case *algebra.Filter:
		// The restrictions are those that the joins below the filter have.
		at.ranges = restrictions(at.ranges, n.Conds)
		return e.rowsOf(n.Input, at)
	case *algebra.Extend, *algebra.Project, *algebra.Distinct, *algebra.Reduced, *algebra.OrderBy, *algebra.LeftJoin, *algebra.Minus, *algebra.LinkRank,
		*algebra.SemiJoin, *algebra.Tally, *algebra.Top, *algebra.Seek:
		return e.rowsOf(algebra.Inputs(n)[0], at) // the left one
	}
	return math.Inf(1), nil
}
