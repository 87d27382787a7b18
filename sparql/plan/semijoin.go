// EXISTS: as a join of its different terms, a step of a join over columns, or a semi-join.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// semiJoinPlan is a SemiJoin being planned.
type semiJoinPlan struct {
	*compiler
	n  *algebra.SemiJoin
	at build.Scope
}

// semiJoin passes the rows of the input for which all tests hold.
func (c *compiler) semiJoin(n *algebra.SemiJoin, in build.Stream, at build.Scope, want order.Request) (build.Stream, error) {
	s := &semiJoinPlan{compiler: c, n: n, at: at}
	// 1. The order of rows must be free, and all of them must be needed: else a semi join may end early.
	named := at.Graphs.Mode == pattern.EachGraph || at.Graphs.Merged()
	if in.Start && !at.Lateral() && !at.Looped && want == (order.Request{}) && !named {
		joined, err := s.existsFirst()
		if err != nil {
			return in, err
		}
		if joined != nil {
			return c.compile(joined, in, at, want)
		}
	}
	// 2. All tests run over the rows, one after the other.
	out, err := c.compile(n.Input, in, at, want)
	for _, x := range n.Tests {
		if err != nil {
			break
		}
		out, err = s.exists(x, out)
	}
	return out, err
}

// existsFirst returns what stands for a semi-join if one of its tests has few rows as a join: the different terms of the
// variables that both share go first, and the patterns are looked up from them. It returns nil if there is no such test.
func (s *semiJoinPlan) existsFirst() (algebra.Node, error) {
	n, at := s.n, s.at
	filter, isFilter := n.Input.(*algebra.Filter)
	input := n.Input
	if isFilter {
		input = filter.Input
	}
	patterns, ok := joinedPatterns(input)
	if !ok || len(patterns) == 0 {
		return nil, nil
	}
	certain, _ := s.Variables.Vars(input)
	for i, x := range n.Tests {
		// 1. Both sides are patterns only, and bind the variables that they share in each row.
		body := s.Body.Exists[x.Index].Pattern
		inner, ok := joinedPatterns(body)
		if x.Not || !ok || len(inner) < 2 {
			continue // one pattern is a step of the join below
		}
		vars, _ := s.Variables.Vars(body)
		shared := vars.Intersect(certain)
		if shared.Len() == 0 {
			continue
		}
		// 2. It has few rows, as the join will find, too.
		most, err := s.Estimator.PatternRows(patterns, at.Graphs, at.Ranges)
		if err != nil {
			return nil, err
		}
		rows, err := s.Estimator.RowsOf(body, at.Graphs, at.Ranges)
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

// exists passes a row of in if x holds.
func (s *semiJoinPlan) exists(x *ast.Exists, in build.Stream) (build.Stream, error) {
	kind, text := columnjoin.ExistsStep, "EXISTS"
	if x.Not {
		kind, text = columnjoin.NotExistsStep, "NOT EXISTS"
	}
	if out, ok := s.ColumnStep(kind, text, s.Body.Exists[x.Index].Pattern, in, s.at.Graphs); ok {
		return out, nil
	}
	inside := s.at.Correlated(in, nil) // a pattern without subqueries has no copies
	inner, err := s.compile(s.Body.Exists[x.Index].Pattern, inside.Begin(), inside, order.Request{})
	if err != nil {
		return in, err
	}
	op := &exec.SemiJoin{
		Exec: s.Exec, Input: in.Op, Inner: inner.Op, Feed: inside.Outer.Feed, Negated: x.Not, RowByRow: *inside.Outer.Mixed,
		Got: s.Exec.NewBatch(), Single: s.Exec.NewBatch(),
	}
	name := "semi join"
	if x.Not {
		name = "anti join"
	}
	return s.Traced(in, op, name, nil, in.Plan, inner.Plan), nil
}
