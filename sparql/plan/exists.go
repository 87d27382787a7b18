// EXISTS: as a semi-join, or within expressions.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// semiJoins takes an EXISTS out of conditions if its pattern may start from many rows.
func (v *visibility) semiJoins(conds []ast.Expr) (semi []*ast.Exists, others []ast.Expr) {
	for _, cond := range algebra.SplitConds(conds) {
		x, ok := cond.(*ast.Exists)
		if ok && v.structural(v.body.Exists[x.Index]) {
			semi = append(semi, x)
			continue
		}
		others = append(others, cond)
	}
	return semi, others
}

// semiJoin passes a row of in if x holds.
func (c *compiler) semiJoin(x *ast.Exists, in stream, g pattern.Graphs, depth int) (stream, error) {
	kind, text := exec.ExistsStep, "EXISTS"
	if x.Not {
		kind, text = exec.NotExistsStep, "NOT EXISTS"
	}
	if out, ok := c.columnStep(kind, text, c.body.Exists[x.Index], in, g); ok {
		return out, nil
	}
	sub := c.substituted(in)
	inner, err := sub.compile(c.body.Exists[x.Index], sub.begin(), g, depth)
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

// substituted returns a compiler of an EXISTS over the rows of s.
func (c *compiler) substituted(s stream) *compiler {
	sub := c.below(s)
	sub.substitute = true
	sub.seeds, sub.maybeSeeds, sub.mixed = s.certain, s.possible, new(bool)
	return sub
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
			sub := c.substituted(s)
			sub.feed.Rows = c.query.NewBatch()
			inner, err := sub.compile(c.body.Exists[x.Index], sub.begin(), g, 0)
			if err != nil {
				failed = err
				return true
			}
			patterns[x] = &exec.Exists{Feed: sub.feed, Operator: inner.op, Out: c.query.NewBatch()}
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
