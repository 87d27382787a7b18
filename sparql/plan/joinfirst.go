// The argument of a join that runs before its patterns, because it has few rows.

package plan

import (
	"math"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
)

// fewer is how many times more rows every pattern must have than an argument that goes first, because
// both are estimates.
const fewer = 4

// pathRows is the assumed number of rows of a repeated path from a term.
const pathRows = 250

// first returns the argument of a join with patterns that runs before them; nil for none. It must
// bind a variable of the patterns, and all patterns must have many times its rows: they are then
// looked up from these rows, and do not read all of theirs.
func (c *compiler) first(args []algebra.Node, patterns []algebra.TriplePattern, g pattern.Graphs) (algebra.Node, error) {
	if len(args) == 0 {
		return nil, nil
	}
	// 1. Of the patterns the one with the fewest rows decides.
	most, err := c.patternRows(patterns, g)
	if err != nil {
		return nil, err
	}
	_, inPatterns := algebra.Vars(&algebra.BGP{Patterns: patterns})
	// 2. Take the smallest argument.
	var first algebra.Node
	most /= fewer
	for _, arg := range args {
		certain, _ := c.visible.Vars(arg)
		if certain.Intersect(inPatterns).Len() == 0 {
			continue
		}
		rows, err := c.rowsOf(arg, g)
		if err != nil {
			return nil, err
		}
		if rows < most {
			first, most = arg, rows
		}
	}
	return first, nil
}

// patternRows returns about how many rows the smallest of some patterns has.
func (c *compiler) patternRows(patterns []algebra.TriplePattern, g pattern.Graphs) (float64, error) {
	list := make([]candidate, len(patterns))
	for i := range patterns {
		p := &patterns[i]
		spans, err := c.withCandidates(p, g, algebra.Set{}, c.spans)
		if err != nil {
			return 0, err
		}
		list[i].pat = newPattern(p.Subject, p.Predicate, p.Object, g, spans)
		list[i].column = c.column(list[i].pat)
	}
	if err := c.estimator.survey(list, 0); err != nil {
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
func (c *compiler) rowsOf(n algebra.Node, g pattern.Graphs) (float64, error) {
	if rows, ok := c.estimator.guessed[n]; ok {
		return rows, nil
	}
	if err := c.query.Check(); err != nil {
		return 0, err
	}
	rows, err := c.guessRows(n, g)
	if err == nil {
		c.estimator.guessed[n] = rows
	}
	return rows, err
}

// guessRows is rowsOf for a node that has no guess.
func (c *compiler) guessRows(n algebra.Node, g pattern.Graphs) (float64, error) {
	switch n := n.(type) {
	// 1. Leaves.
	case *algebra.BGP:
		return c.patternRows(n.Patterns, g)
	case *algebra.Table:
		return float64(len(n.Rows)), nil
	case *algebra.Path:
		if _, repeats := n.Path.(*ast.PathRepeat); repeats && n.Subject.IsVar() != n.Object.IsVar() {
			return pathRows, nil
		}
	case *algebra.LinkJoin:
		return c.linkRows(n, algebra.Set{}), nil
	case *algebra.TextJoin:
		return c.textRows(n)
	// 2. A join has about the rows of its smallest argument, a union those of all.
	case *algebra.Join:
		least := math.Inf(1)
		for _, arg := range n.Args {
			rows, err := c.rowsOf(arg, g)
			if err != nil {
				return 0, err
			}
			least = min(least, rows)
		}
		return least, nil
	case *algebra.Union:
		sum := 0.0
		for _, arg := range n.Args {
			rows, err := c.rowsOf(arg, g)
			if err != nil {
				return 0, err
			}
			sum += rows
		}
		return sum, nil
	// 3. Operators over one input keep its rows or have fewer.
	case *algebra.Slice:
		rows, err := c.rowsOf(n.Input, g)
		if n.Limit != ast.NoLimit {
			rows = min(rows, float64(n.Limit))
		}
		return rows, err
	case *algebra.Group:
		if len(n.Keys) == 0 {
			return 1, nil
		}
		return c.rowsOf(n.Input, g)
	case *algebra.Filter:
		// The restrictions are those that the joins below the filter have.
		sub := *c
		sub.spans = restrictions(c.spans, n.Conds)
		return sub.rowsOf(n.Input, g)
	case *algebra.Extend, *algebra.Project, *algebra.Distinct, *algebra.Reduced, *algebra.OrderBy, *algebra.LeftJoin, *algebra.Minus, *algebra.LinkRank,
		*algebra.SemiJoin, *algebra.Tally, *algebra.Top, *algebra.Seek:
		return c.rowsOf(algebra.Inputs(n)[0], g) // the left one
	}
	return math.Inf(1), nil
}
