// EXISTS within expressions.

package plan

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/order"
)

// newEnv returns the environment of expressions over the rows of s, and the plans of their
// EXISTS.
func (c *compiler) newEnv(at build.Scope, exprs []ast.Expr, s build.Stream) (*expr.Env, []*explain.Plan, error) {
	env := c.Exec.NewEnv()
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
			body := &c.Body.Exists[x.Index]
			inside := at.Correlated(s, body.Copies)
			inside.Depth = 0 // expressions nest less deep than a stack allows
			inside.Outer.Feed.Rows = c.Exec.NewBatch()
			inner, err := c.compile(body.Pattern, inside.Begin(), inside, order.Request{})
			if err != nil {
				failed = err
				return true
			}
			patterns[x] = &exec.Exists{Feed: inside.Outer.Feed, Operator: inner.Op, Copies: body.Copies, Out: c.Exec.NewBatch()}
			c.Exec.Closers = append(c.Exec.Closers, inner.Op)
			plans = append(plans, build.NewPlan("exists", nil, -1, inner.Plan))
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
