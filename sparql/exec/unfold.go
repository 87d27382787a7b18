// Triple term patterns: the parts of a term.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// Unfold binds variables to the subject, predicate and object of the triple term in a slot. It drops a row
// whose term is none, or has another term at a place that is bound already. Each row must bind the slot.
type Unfold struct {
	Exec   *Execution
	Input  Operator
	Slot   int
	Places [3]UnfoldPlace

	term     solution.Decoder
	decoders [3]solution.Decoder // of the places
}

// UnfoldPlace is a place of an [Unfold]: a term, or a variable if Slot is not negative.
type UnfoldPlace struct {
	Slot int
	Term string // encoded
}

func (u *Unfold) Next(out *solution.Batch) error {
	for {
		if err := u.Exec.Check(); err != nil {
			return err
		}
		if err := u.Input.Next(out); err != nil || out.Len == 0 {
			return err
		}
		// Rows move to the front of the batch, because a copy to another one costs more.
		n := 0
		for i := range out.Len {
			row := out.Row(i)
			if !u.unfold(row) {
				continue
			}
			if n < i {
				copy(out.Row(n), row)
				out.Origin[n] = out.Origin[i]
			}
			n++
		}
		if out.Truncate(n); n > 0 {
			return nil
		}
	}
}

// unfold binds the places in a row. It returns false if the row does not match.
func (u *Unfold) unfold(row []string) bool {
	term := u.whole(&u.term, row[u.Slot])
	s, p, o, ok := triple.SplitTripleTerm(solution.BytesOf(term))
	if !ok {
		return false
	}
	// The parts share the memory of the term.
	for i, part := range [3][]byte{s, p, o} {
		at := &u.Places[i]
		switch {
		case at.Slot < 0:
			if string(part) != at.Term {
				return false
			}
		case row[at.Slot] == "":
			row[at.Slot] = solution.StringOf(part)
		case u.whole(&u.decoders[i], row[at.Slot]) != string(part):
			return false
		}
	}
	return true
}

// whole returns the encoded term of a binding, which may be a number.
func (u *Unfold) whole(d *solution.Decoder, binding string) string {
	if number, ok := solution.Number(binding); ok {
		return d.Term(u.Exec.Terms, u.Exec.Arena, number)
	}
	return binding
}

func (u *Unfold) Reset() { u.Input.Reset() }
func (u *Unfold) Close() { u.Input.Close() }
