// OPTIONAL as a lateral join: the right side starts from rows of the left.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// LateralLeftJoin is LeftJoin whose right side starts from the rows of the left.
type LateralLeftJoin struct {
	Exec       *Execution
	Left       Operator
	Right      Operator
	Feed       *Feed
	Conditions []*expr.Expr
	Env        *expr.Env
	// InSequence: right gives rows in the order of the feed's, so the rows of
	// left without a match can be put between them.
	InSequence bool

	plan    *explain.Plan
	view    solution.View
	Batch   *solution.Batch
	Got     *solution.Batch
	at      int
	matched []bool
	running bool
	due     int // the first row of left not yet given or passed by alone
}

func (l *LateralLeftJoin) Next(out *solution.Batch) error {
	for {
		if err := l.Exec.Check(); err != nil {
			return err
		}
		if !l.running {
			l.Batch.Clear()
			if err := l.Left.Next(l.Batch); err != nil || l.Batch.Len == 0 {
				return err
			}
			l.Feed.Rows = l.Batch
			l.Right.Reset()
			l.Got.Clear()
			l.matched = append(l.matched[:0], make([]bool, l.Batch.Len)...)
			l.at, l.due, l.running = 0, 0, true
		}
		if err := l.run(out); err != nil {
			return err
		}
		if out.Full() || out.Len > 0 && !l.running {
			return nil
		}
	}
}

func (l *LateralLeftJoin) run(out *solution.Batch) error {
	for !out.Full() {
		// 1. Get more matches. At their end all rows of left without one follow.
		if l.at >= l.Got.Len {
			if out.Len > 0 {
				out.Weight += l.Got.Weight // its rows share the values
			}
			if l.Got.Clear(); out.Len > 0 && out.Full() {
				return nil
			}
			l.at = 0
			if err := l.Right.Next(l.Got); err != nil {
				return err
			}
			if l.Got.Len == 0 {
				l.flushUnmatched(out, l.Batch.Len)
				l.running = l.due < l.Batch.Len
				return nil
			}
		}
		// 2. If matches come in order, rows before this one have none and may be given now.
		from := int(l.Got.Origin[l.at])
		if l.InSequence && from > l.due {
			if l.flushUnmatched(out, from); l.due < from {
				return nil
			}
		}
		// 3. Give the match if the conditions hold.
		row := l.Got.Row(l.at)
		l.at++
		if len(l.Conditions) > 0 {
			ok, err := Holds(l.Env, l.Conditions, l.view.MoveTo(row, l.Exec.Terms), l.plan.Conditions)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		l.matched[from] = true
		out.Add(row, l.Batch.Origin[from])
	}
	return nil
}

// flushUnmatched gives each row of left from l.due up to before if it has no match.
func (l *LateralLeftJoin) flushUnmatched(out *solution.Batch, before int) {
	for l.due < before {
		if !l.matched[l.due] {
			if out.Full() {
				return
			}
			out.Add(l.Batch.Row(l.due), l.Batch.Origin[l.due])
		}
		l.due++
	}
}

// SetPlan makes l count in a plan.
func (l *LateralLeftJoin) SetPlan(p *explain.Plan) { l.plan = p.WithConditions(len(l.Conditions)) }

func (l *LateralLeftJoin) Reset() { l.running = false; l.Left.Reset() }
func (l *LateralLeftJoin) Close() {
	l.Batch.Free()
	l.Got.Free()
	l.Left.Close()
	l.Right.Close()
}
