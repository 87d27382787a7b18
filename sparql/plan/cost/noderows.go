// How many rows a node has by itself, about.

package cost

import (
	"math"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
)

// pathRows is the assumed number of rows of a repeated path from a term.
const pathRows = 250

// PatternRows returns about how many rows the smallest of some patterns has.
func (e *Estimator) PatternRows(patterns []algebra.TriplePattern, g pattern.Graphs, ranges map[int]pattern.Restriction) (float64, error) {
	list := make([]Candidate, len(patterns))
	for i := range patterns {
		p := &patterns[i]
		spans, err := e.WithCandidates(p, g, algebra.Set{}, ranges)
		if err != nil {
			return 0, err
		}
		list[i].Pat = NewPattern(p.Subject, p.Predicate, p.Object, g, spans)
		list[i].Column = e.Column(list[i].Pat)
	}
	if err := e.Survey(list, 0); err != nil {
		return 0, err
	}
	least := math.Inf(1)
	for i := range list {
		least = min(least, list[i].Rows)
	}
	return least, nil
}

// RowsOf returns a guess of the rows of a node by itself, from its smallest parts; infinity if
// nothing is known. It guesses each node once, because the joins within a node need guesses of its
// parts again: without that the time would be quadratic in the depth of a query.
func (e *Estimator) RowsOf(n algebra.Node, g pattern.Graphs, ranges map[int]pattern.Restriction) (float64, error) {
	if rows, ok := e.guessed[n]; ok {
		return rows, nil
	}
	if err := e.Exec.Check(); err != nil {
		return 0, err
	}
	rows, err := e.guessRows(n, g, ranges)
	if err == nil {
		e.guessed[n] = rows
	}
	return rows, err
}

// guessRows is RowsOf for a node that has no guess.
func (e *Estimator) guessRows(n algebra.Node, g pattern.Graphs, ranges map[int]pattern.Restriction) (float64, error) {
	switch n := n.(type) {
	// 1. Leaves.
	case *algebra.BGP:
		return e.PatternRows(n.Patterns, g, ranges)
	case *algebra.Table:
		return float64(len(n.Rows)), nil
	case *algebra.Path:
		if _, repeats := n.Path.(*ast.PathRepeat); repeats && n.Subject.IsVar() != n.Object.IsVar() {
			return pathRows, nil
		}
	case *algebra.LinkJoin:
		return LinkRows(n, algebra.Set{}), nil
	case *algebra.TextJoin:
		return e.TextRows(n)
	// 2. A join has about the rows of its smallest argument, a union those of all.
	case *algebra.Join:
		least := math.Inf(1)
		for _, arg := range n.Args {
			rows, err := e.RowsOf(arg, g, ranges)
			if err != nil {
				return 0, err
			}
			least = min(least, rows)
		}
		return least, nil
	case *algebra.Union:
		sum := 0.0
		for _, arg := range n.Args {
			rows, err := e.RowsOf(arg, g, ranges)
			if err != nil {
				return 0, err
			}
			sum += rows
		}
		return sum, nil
	// 3. Operators over one input keep its rows or have fewer.
	case *algebra.Slice:
		rows, err := e.RowsOf(n.Input, g, ranges)
		if n.Limit != ast.NoLimit {
			rows = min(rows, float64(n.Limit))
		}
		return rows, err
	case *algebra.Group:
		if len(n.Keys) == 0 {
			return 1, nil
		}
		return e.RowsOf(n.Input, g, ranges)
	case *algebra.Filter:
		// The restrictions are those that the joins below the filter have.
		ranges = Restrictions(ranges, n.Conds)
		return e.RowsOf(n.Input, g, ranges)
	case *algebra.Extend, *algebra.Project, *algebra.Distinct, *algebra.Reduced, *algebra.OrderBy, *algebra.LeftJoin, *algebra.Minus, *algebra.LinkRank,
		*algebra.SemiJoin, *algebra.Tally, *algebra.Top, *algebra.Seek:
		return e.RowsOf(algebra.Inputs(n)[0], g, ranges) // the left one
	}
	return math.Inf(1), nil
}
