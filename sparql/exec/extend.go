// BIND, and the expressions of SELECT.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// Extend binds variables to the values of expressions, one after the other.
type Extend struct {
	Exec  *Execution
	Input Operator
	Slots []int
	Exprs []*expr.Expr
	From  []int // the slots of expressions that are a variable alone; negative for all others
	Env   *expr.Env
	// Parts are those of a triple term: the only slot is bound to it, and there is no expression. Each row must
	// bind their variables. A row whose parts make no triple leaves the slot unbound.
	Parts    *[3]UnfoldPlace
	decoders [3]solution.Decoder // of the parts
	view     solution.View
	buf      []byte
	rest     *solution.Batch // rows without room in a batch, because values are large
	at       int
	// Of the values of the last batch:
	small int           // uncounted bytes of those below solution.LargeBinding
	extra int           // bytes counted for the operands of the greatest, and for the buffer
	Large memory.Holder // counts them
}

func (e *Extend) Next(out *solution.Batch) error {
	// 1. The caller is done with the batch before, so its values need not be counted any more.
	e.Large.Free()
	e.small, e.extra = 0, 0
	defer func() { e.view.Forget(out.Weight) }()
	if e.rest == nil || e.at >= e.rest.Len {
		if err := e.Exec.Check(); err != nil {
			return err
		}
		// 2. Bind the variables in the batch of the input itself, because a copy costs more.
		if err := e.Input.Next(out); err != nil {
			return err
		}
		for i := range out.Len {
			if err := e.bind(out, i); err != nil {
				return err
			}
			// If values are large the batch is full early, and the other rows must wait.
			if out.Weight >= solution.MaxWeight && i+1 < out.Len {
				e.put(out, i+1)
				break
			}
		}
		return nil
	}
	// 3. Rows without room in the last batch come next, before the input is read again.
	for ; e.at < e.rest.Len && !out.Full(); e.at++ {
		out.Add(e.rest.Row(e.at), e.rest.Origin[e.at])
		if err := e.bind(out, out.Len-1); err != nil {
			return err
		}
	}
	return nil
}

// put moves the rows of a batch from one on aside.
func (e *Extend) put(out *solution.Batch, from int) {
	if e.rest == nil {
		e.rest = out.NewEmpty()
	}
	e.rest.Clear()
	e.at = 0
	for i := from; i < out.Len; i++ {
		e.rest.AddRead(out.Row(i), out.Origin[i])
	}
	out.Truncate(from)
}

// bind evaluates the expressions for a row.
func (e *Extend) bind(out *solution.Batch, i int) error {
	if err := e.Exec.Tick(); err != nil {
		return err
	}
	row := out.Row(i)
	if e.Parts != nil {
		term, ok := e.fold(e.buf[:0], row)
		e.buf = term
		return e.set(out, row, e.Slots[0], ok, len(term))
	}
	e.Env.NextSolution()
	for k, slot := range e.Slots {
		// The binding of a variable alone is taken as it is, unless it is a number.
		if from := e.From[k]; from >= 0 {
			if _, ok := solution.Number(row[from]); !ok {
				row[slot] = row[from]
				continue
			}
		}
		v := e.Exprs[k].Eval(e.Env, e.view.MoveTo(row, e.Exec.Terms))
		if err := e.Env.Err(); err != nil {
			return err
		}
		bytes := 0
		if v.IsBound() {
			term := v.Term()
			bytes = len(term.Value())
			e.buf = triple.AppendWholeTerm(e.buf[:0], term)
		}
		if err := e.set(out, row, slot, v.IsBound(), bytes); err != nil {
			return err
		}
	}
	return nil
}

// set binds a slot to the encoded term in the buffer, or leaves it unbound. The term is of a value of some
// bytes.
func (e *Extend) set(out *solution.Batch, row []string, slot int, bound bool, bytes int) error {
	row[slot] = ""
	if !bound {
		return nil
	}
	if err := e.hold(out, bytes); err != nil {
		return err
	}
	row[slot] = e.Exec.Arena.Copy(e.buf)
	if cap(e.buf) > 4*solution.LargeBinding {
		e.buf = nil // of a large value
	}
	return nil
}

// hold counts a value's bytes for a batch. A value may exceed the query's memory only if it is
// huge, because a batch has few bytes of others.
func (e *Extend) hold(out *solution.Batch, bytes int) error {
	if bytes < solution.LargeBinding {
		if e.small += bytes; e.small < solution.SmallValues {
			return nil
		}
		bytes, e.small = e.small, 0
	}
	out.Weight += bytes
	if extra := 2 * bytes; extra > e.extra {
		bytes, e.extra = bytes+extra-e.extra, extra
	}
	if bytes >= solution.MaxWeight/4 {
		return e.Large.Grow(bytes)
	}
	e.Large.Take(bytes)
	e.Exec.Account.Owed += int64(bytes)
	return e.Exec.Account.ReserveOwed()
}

func (e *Extend) Reset() {
	if e.rest != nil {
		e.rest.Free()
	}
	e.at = 0
	e.Large.Free()
	e.Input.Reset()
}
func (e *Extend) Close() { e.Large.Free(); e.Input.Close() }
