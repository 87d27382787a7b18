// Variables that an operator binds anew, and the rows around an EXISTS bind, too.

package exec

import "github.com/trefoildb/trefoil/sparql/exec/solution"

// Agree joins each row of its input with the row of the feed that it comes from, in the variables that the
// operator below has bound anew: it drops a row that binds one to another term.
type Agree struct {
	Exec  *Execution
	Input Operator
	Feed  *Feed
	Slots []int // bound to terms by the input, perhaps to numbers by the feed

	decoders []solution.Decoder // by slot
}

func (a *Agree) Next(out *solution.Batch) error {
	for {
		if err := a.Exec.Check(); err != nil {
			return err
		}
		if err := a.Input.Next(out); err != nil || out.Len == 0 {
			return err
		}
		n := 0
		for i := range out.Len {
			if !a.joins(out.Row(i), a.Feed.Rows.Row(int(out.Origin[i]))) {
				continue
			}
			if n < i {
				copy(out.Row(n), out.Row(i))
				out.Origin[n] = out.Origin[i]
			}
			n++
		}
		if out.Truncate(n); n > 0 {
			return nil
		}
	}
}

// joins gives row the bindings of the feed's row that it lacks. It returns false if another one differs.
func (a *Agree) joins(row, feed []string) bool {
	if a.decoders == nil {
		a.decoders = make([]solution.Decoder, len(a.Slots))
	}
	for at, slot := range a.Slots {
		term := feed[slot]
		if number, ok := solution.Number(term); ok {
			term = a.decoders[at].Term(a.Exec.Terms, a.Exec.Arena, number)
		}
		if row[slot] == "" {
			row[slot] = term
		}
		if term != "" && row[slot] != term {
			return false
		}
	}
	return true
}

func (a *Agree) Reset() { a.Input.Reset() }
func (a *Agree) Close() { a.Input.Close() }
