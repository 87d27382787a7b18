// The way in: from a body of algebra to a run.

package plan

import (
	"context"
	"errors"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/optimize"
	"github.com/trefoildb/trefoil/sparql/plan/build"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/sparql/source"
)

// ErrTooDeep is wrapped by the error of a query if too many of its operators stand in one another.
var ErrTooDeep = errors.New("the query nests too deep")

// maxDepth is how many operators may stand in one another. Each OPTIONAL, MINUS or LATERAL of a group is one around
// those before it. Plans and runs recurse, and an operator takes up to 4 KiB of the stack. A stack grows to the double size,
// so it takes 256 MiB at most, and all stacks of the process about 264; Go ends the process at 1 GB.
const maxDepth = 50_000

// Start plans a query over a source and begins its execution. keeper keeps its join orders; nil keeps none.
// The run has a plan, even if the body has no pattern.
func Start(ctx context.Context, src source.Source, body *algebra.Body, dataset Dataset, opts exec.Options, keeper order.Keeper) (*exec.Run, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	keys := optimize.EqualityKeys(body)
	q := exec.NewExecution(ctx, src, body.Scope.Len()+len(keys), opts)
	graphs, view := dataset.defaultGraphs(opts.UnionDefaultGraph), columns.FromSource(ctx, src)
	ofGraphs := view
	if graphs.Mode != pattern.DefaultGraph {
		ofGraphs = nil // columns have the rows of the store's default graph
	}
	body, variables := optimize.Body(body, ofGraphs)
	c := &compiler{&build.Query{Estimator: cost.New(q, view), Body: body, Variables: variables, Keys: keys, Orders: order.New(keeper, view)}, dataset}
	if c.Columns != nil {
		q.Terms = &solution.Terms{Dictionary: c.Columns.Dictionary(), Account: q.Account}
		q.MovingRows = c.Columns.MovingRows()
	}
	at := build.Scope{Graphs: graphs}
	s, err := c.compile(body.Root, at.Begin(), at, order.Request{})
	if err != nil {
		q.Account.End()
		return nil, err
	}
	// A body without a pattern is the unit alone. Every reader of a plan needs an operator, so it becomes one.
	if s.Plan == nil {
		s = c.Traced(s, s.Op, "unit", nil)
	}
	c.Orders.Store()
	return exec.NewRun(q, &exec.Terms{Exec: q, Input: s.Op, Slots: s.Numbers.Slots()}, s.Plan), nil
}
