package exec

import (
	"fmt"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// exists is the pattern of an EXISTS: it starts from one row at a time, whose
// terms replace the variables (section 18.6).
type exists struct {
	feed *feed
	op   operator
	out  *batch
}

func (x *exists) test(row []string) (bool, error) {
	x.feed.rows.clear()
	x.feed.rows.add(row, 0)
	x.op.reset()
	x.out.clear()
	err := x.op.next(x.out)
	return x.out.n > 0, err
}

// substituted returns a compiler of an EXISTS over the rows of s.
func (c *compiler) substituted(s stream) *compiler {
	sub := c.below(s)
	sub.substitute = true
	sub.seeds, sub.maybeSeeds, sub.mixed = s.certain, s.possible, new(bool)
	return sub
}

// newEnv returns what expressions over the rows of s need, and the plans of
// their EXISTS.
func (c *compiler) newEnv(g graphs, exprs []ast.Expr, s stream) (*expr.Env, []*Plan, error) {
	env := c.query.newEnv()
	var plans []*Plan
	patterns := map[*ast.Exists]*exists{}
	var failed error
	for _, e := range exprs {
		ast.AnyExpr(e, func(e ast.Expr) bool {
			x, ok := e.(*ast.Exists)
			if !ok || failed != nil {
				return false
			}
			sub := c.substituted(s)
			sub.feed.rows = newBatch(c.query.width)
			inner, err := sub.compile(c.body.Exists[x.Index], sub.begin(), g, 0)
			if err != nil {
				failed = err
				return true
			}
			patterns[x] = &exists{feed: sub.feed, op: inner.op, out: newBatch(c.query.width)}
			c.query.closers = append(c.query.closers, inner.op)
			plans = append(plans, c.plan("exists", "", -1, inner.plan))
			return false
		})
	}
	if failed != nil {
		return nil, nil, failed
	}
	if len(patterns) > 0 {
		env.Exists = func(e *ast.Exists, row expr.Row) (bool, error) {
			view, ok := row.(*rowView)
			if x := patterns[e]; ok && x != nil {
				return x.test(view.row)
			}
			return false, fmt.Errorf("EXISTS at %s was not planned", e.Pos)
		}
	}
	return env, plans, nil
}
