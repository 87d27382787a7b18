// FILTER: every row must pass its conditions.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// test reports whether all conditions hold.
func test(env *expr.Env, conds []*expr.Expr, row *solution.View) (bool, error) {
	env.NextSolution()
	for _, cond := range conds {
		ok := cond.Test(env, row)
		if err := env.Err(); err != nil {
			return false, err
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// Filter passes a row if all conditions hold.
type Filter struct {
	Exec       *Execution
	Input      Operator
	Conditions []*expr.Expr
	Env        *expr.Env
	view       solution.View
}

func (f *Filter) Next(out *solution.Batch) error {
	for {
		if err := f.Exec.Check(); err != nil {
			return err
		}
		if err := f.Input.Next(out); err != nil || out.Len == 0 {
			return err
		}
		// Move the passing rows to the front of the batch, because a copy to another one costs
		// more.
		n := 0
		for i := range out.Len {
			if err := f.Exec.Tick(); err != nil {
				return err
			}
			row := out.Row(i)
			ok, err := test(f.Env, f.Conditions, f.view.Of(row, f.Exec.Terms))
			if err != nil {
				return err
			}
			if ok {
				if n < i {
					copy(out.Row(n), row)
					out.Origin[n] = out.Origin[i]
				}
				n++
			}
		}
		f.view.Forget(out.Weight)
		if out.Truncate(n); n > 0 {
			return nil
		}
	}
}

func (f *Filter) Reset() { f.Input.Reset() }
func (f *Filter) Close() { f.Input.Close() }
