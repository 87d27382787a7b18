// EXISTS: as a semi-join, or within expressions.

package plan

import (
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// semiJoins passes the rows of the input for which all tests hold.
func (c *compiler) semiJoins(n *algebra.SemiJoin, in stream, g pattern.Graphs, depth int) (stream, error) {
	joined, err := c.existsFirst(n, in, g)
	if err != nil {
		return in, err
	}
	if joined != nil {
		return c.compile(joined, in, g, depth)
	}
	out, err := c.compile(n.Input, in, g, depth)
	for _, x := range n.Tests {
		if err != nil {
			break
		}
		out, err = c.semiJoin(x, out, g, depth)
	}
	return out, err
}

// existsFirst returns what stands for a semi-join if one of its tests has few rows as a join: the different terms of the
// variables that both share go first, and the patterns are looked up from them. It returns nil if there is no such test.
func (c *compiler) existsFirst(n *algebra.SemiJoin, in stream, g pattern.Graphs) (algebra.Node, error) {
	// 1. The order of rows is free, and all of them are needed: else a semi join may end early.
	named := g.Mode == pattern.EachGraph || g.Merged()
	if !in.start || c.feed != nil || c.substitute || c.looped || c.want != nil || c.goal > 0 || named {
		return nil, nil
	}
	filter, isFilter := n.Input.(*algebra.Filter)
	input := n.Input
	if isFilter {
		input = filter.Input
	}
	patterns, ok := joinedPatterns(input)
	if !ok || len(patterns) == 0 {
		return nil, nil
	}
	certain, _ := c.visible.Vars(input)
	for i, x := range n.Tests {
		// 2. Both sides are patterns only, and bind the variables that they share in each row.
		body := c.body.Exists[x.Index].Pattern
		inner, ok := joinedPatterns(body)
		if x.Not || !ok || len(inner) < 2 {
			continue // one pattern is a step of the join below
		}
		vars, _ := c.visible.Vars(body)
		shared := vars.Intersect(certain)
		if shared.Len() == 0 {
			continue
		}
		// 3. It has few rows, as the join will find, too.
		most, err := c.patternRows(patterns, g)
		if err != nil {
			return nil, err
		}
		rows, err := c.rowsOf(body, g)
		if err != nil {
			return nil, err
		}
		if rows >= most/fewer {
			continue
		}
		terms := &algebra.Distinct{Input: &algebra.Project{Input: body, Slots: shared.Slots()}}
		var joined algebra.Node = &algebra.Join{Args: []algebra.Node{input, terms}}
		if isFilter {
			joined = &algebra.Filter{Input: joined, Conds: filter.Conds}
		}
		if rest := slices.Delete(slices.Clone(n.Tests), i, i+1); len(rest) > 0 {
			joined = &algebra.SemiJoin{Input: joined, Tests: rest}
		}
		return joined, nil
	}
	return nil, nil
}

// joinedPatterns returns the triple patterns of a node that is a join of them, perhaps with triple term patterns. All its
// variables are bound in each of its rows.
func joinedPatterns(n algebra.Node) (patterns []algebra.TriplePattern, ok bool) {
	switch n := n.(type) {
	case *algebra.BGP:
		return n.Patterns, true
	case *algebra.Unfold:
		return nil, true
	case *algebra.Join:
		for _, arg := range n.Args {
			more, ok := joinedPatterns(arg)
			if !ok {
				return nil, false
			}
			patterns = append(patterns, more...)
		}
		return patterns, true
	}
	return nil, false
}

// semiJoin passes a row of in if x holds.
func (c *compiler) semiJoin(x *ast.Exists, in stream, g pattern.Graphs, depth int) (stream, error) {
	kind, text := exec.ExistsStep, "EXISTS"
	if x.Not {
		kind, text = exec.NotExistsStep, "NOT EXISTS"
	}
	if out, ok := c.columnStep(kind, text, c.body.Exists[x.Index].Pattern, in, g); ok {
		return out, nil
	}
	sub := c.correlated(in, nil) // a pattern without subqueries has no copies
	inner, err := sub.compile(c.body.Exists[x.Index].Pattern, sub.begin(), g, depth)
	if err != nil {
		return in, err
	}
	s := &exec.SemiJoin{
		Exec: c.query, Input: in.op, Inner: inner.op, Feed: sub.feed, Negated: x.Not, RowByRow: *sub.mixed,
		Got: c.query.NewBatch(), Single: c.query.NewBatch(),
	}
	name := "semi join"
	if x.Not {
		name = "anti join"
	}
	return c.traced(in, s, name, nil, in.plan, inner.plan), nil
}

// correlated returns a compiler of an EXISTS or LATERAL over the rows of s, with copies of their variables.
func (c *compiler) correlated(s stream, copies []algebra.Copy) *compiler {
	for _, one := range copies {
		if s.certain.Has(one.From) {
			s.certain = s.certain.With(one.To)
		}
		if s.possible.Has(one.From) {
			s.possible = s.possible.With(one.To)
		}
		if s.numbers.Has(one.From) {
			s.numbers = s.numbers.With(one.To)
		}
	}
	sub := c.below(s)
	sub.substitute = true
	sub.seeds, sub.mixed = s.certain, new(bool)
	return sub
}

// agreeing drops the rows in which an operator has bound one of some variables otherwise than the feed.
func (c *compiler) agreeing(s stream, bound []int) stream {
	both := c.possible.Intersect(algebra.SetOf(bound...))
	if both.Len() == 0 {
		return s
	}
	s.certain = s.certain.Union(c.certain.Intersect(both))
	op := &exec.Agree{Exec: c.query, Input: s.op, Feed: c.feed, Slots: both.Slots()}
	return c.traced(s, op, "equal to the outer pattern", names(c.body.Scope, both), s.plan)
}

// newEnv returns the environment of expressions over the rows of s, and the plans of their
// EXISTS.
func (c *compiler) newEnv(g pattern.Graphs, exprs []ast.Expr, s stream) (*expr.Env, []*explain.Plan, error) {
	env := c.query.NewEnv()
	var plans []*explain.Plan
	// 1. Compile the pattern of each EXISTS over the rows of s.
	patterns := map[*ast.Exists]*exec.Exists{}
	var failed error
	for _, e := range exprs {
		ast.AnyExpr(e, func(e ast.Expr) bool {
			x, ok := e.(*ast.Exists)
			if !ok || failed != nil {
				return false
			}
			body := &c.body.Exists[x.Index]
			sub := c.correlated(s, body.Copies)
			sub.feed.Rows = c.query.NewBatch()
			inner, err := sub.compile(body.Pattern, sub.begin(), g, 0)
			if err != nil {
				failed = err
				return true
			}
			patterns[x] = &exec.Exists{Feed: sub.feed, Operator: inner.op, Copies: body.Copies, Out: c.query.NewBatch()}
			c.query.Closers = append(c.query.Closers, inner.op)
			plans = append(plans, newPlan("exists", nil, -1, inner.plan))
			return false
		})
	}
	if failed != nil {
		return nil, nil, failed
	}
	// 2. An expression finds its pattern by the node of the tree.
	if len(patterns) > 0 {
		env.Exists = func(e *ast.Exists, row expr.Row) (bool, error) {
			view, ok := row.(*solution.View)
			if x := patterns[e]; ok && x != nil {
				return x.Test(view.Row)
			}
			return false, fmt.Errorf("EXISTS at %s was not planned", e.Pos)
		}
	}
	return env, plans, nil
}
