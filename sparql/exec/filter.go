// FILTER: every row must pass its conditions.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// Holds reports whether all conditions hold. counts has one for each.
func Holds(env *expr.Env, conds []*expr.Expr, row *solution.View, counts []explain.Condition) (bool, error) {
	env.NextSolution()
	for i, cond := range conds {
		if r, err := testOne(env, cond, row, &counts[i]); err != nil || r != holds {
			return false, err
		}
	}
	return true, nil
}

// outcome is what a condition is in a row. A row passes only if it holds.
type outcome uint8

const (
	fails outcome = iota
	holds
	errs // the value is an error
)

// testOne tests one condition and counts the row.
func testOne(env *expr.Env, cond *expr.Expr, row *solution.View, count *explain.Condition) (outcome, error) {
	count.Rows++
	v := cond.Eval(env, row)
	if err := env.Err(); err != nil {
		return fails, err
	}
	value, ok := v.EBV()
	switch {
	case !ok:
		if count.Errors++; count.Errors == 1 {
			count.Reason = v.EBVErr().Error()
		}
		return errs, nil
	case value:
		return holds, nil
	}
	return fails, nil
}

// Filter passes a row if all conditions hold.
type Filter struct {
	Exec       *Execution
	Input      Operator
	Conditions []*expr.Expr
	// Slots has the variable of each condition if its value depends on nothing else; else it is negative.
	// The results for numbers are then kept, see [solution.AppendNumber].
	Slots []int
	// Nodes has a test for each condition that compares a variable with an IRI or another variable; nil for
	// others.
	Nodes []*NodeTest
	Env   *expr.Env
	plan  *explain.Plan
	view  solution.View
	rows  int        // tested so far, up to fewRows
	kept  [][]result // of the conditions, by the last bits of the number
}

// NodeTest is a condition that a variable is one node, or any other one. Numbers of nodes need no values.
type NodeTest struct {
	Left, Right int    // slots; Right is negative for an IRI
	Number      uint32 // of the IRI; 0 if no column has it
	Unequal     bool
}

// Holds tests a row; known is false if values must be read.
func (n *NodeTest) Holds(row []string, terms *solution.Terms) (ok, known bool) {
	left, known := solution.Number(row[n.Left])
	if !known || !terms.IsNode(left) {
		return false, false
	}
	right := n.Number
	if n.Right >= 0 {
		if right, known = solution.Number(row[n.Right]); !known || !terms.IsNode(right) {
			return false, false
		}
	}
	return (left == right) != n.Unequal, true
}

// result is the result of a condition for a number.
type result struct {
	number uint32
	outcome
}

// keptResults is how many results are kept of a condition.
const keptResults = 1 << 10

const resultBytes = 8

// fewRows is how many rows are tested before results are kept, because most filters of small queries
// test fewer.
const fewRows = 64

// Holds reports whether all conditions hold.
func (f *Filter) Holds(row []string) (bool, error) {
	view := f.view.MoveTo(row, f.Exec.Terms)
	f.rows = min(f.rows+1, fewRows)
	f.Env.NextSolution()
	for i, cond := range f.Conditions {
		count := &f.plan.Conditions[i]
		// 1. A node equals itself only.
		if node := f.Nodes[i]; node != nil {
			if ok, known := node.Holds(row, f.Exec.Terms); known {
				count.Rows++
				if !ok {
					return false, nil
				}
				continue
			}
		}
		// 2. Only results for numbers are kept.
		number, ok := uint32(0), false
		if f.rows == fewRows && f.Slots[i] >= 0 {
			number, ok = solution.Number(row[f.Slots[i]])
		}
		if !ok {
			if r, err := testOne(f.Env, cond, view, count); err != nil || r != holds {
				return false, err
			}
			continue
		}
		if f.kept == nil {
			f.kept = make([][]result, len(f.Conditions))
		}
		if f.kept[i] == nil {
			f.kept[i] = make([]result, keptResults)
			f.Exec.Account.Take(keptResults * resultBytes)
		}
		// 3. Another number may have had the place.
		r := &f.kept[i][number%keptResults]
		if r.number != number {
			fresh, err := testOne(f.Env, cond, view, count)
			if err != nil {
				return false, err
			}
			*r = result{number, fresh}
		} else if count.Rows++; r.outcome == errs {
			count.Errors++
		}
		if r.outcome != holds {
			return false, nil
		}
	}
	return true, nil
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
			ok, err := f.Holds(row)
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

// SetPlan makes f count in a plan.
func (f *Filter) SetPlan(p *explain.Plan) { f.plan = p.WithConditions(len(f.Conditions)) }

func (f *Filter) Close() {
	for _, kept := range f.kept {
		f.Exec.Account.Take(-int64(len(kept)) * resultBytes)
	}
	f.kept = nil
	f.Input.Close()
}
