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
	number   uint32              // of the last term that had one and matches the terms of the places
	parts    [3]string           // of the last term
}

// UnfoldPlace is a place of an [Unfold] or of [Extend.Parts]: a term, or a variable if Slot is not negative.
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
	if !u.split(row[u.Slot]) {
		return false
	}
	for i, part := range u.parts {
		at := &u.Places[i]
		switch {
		case at.Slot < 0:
		case row[at.Slot] == "":
			row[at.Slot] = part
		case string(u.Exec.bytesOf(&u.decoders[i], row[at.Slot])) != part:
			return false
		}
	}
	return true
}

// split sets the parts of a binding. It returns false if they do not match the terms of the places. Neighbours
// often have the same term, and a term that does not match is not copied.
func (u *Unfold) split(binding string) bool {
	number, isNumber := solution.Number(binding)
	if isNumber && number == u.number {
		return true
	}
	u.number = 0
	term := u.Exec.bytesOf(&u.term, binding)
	s, p, o, ok := triple.SplitTripleTerm(term)
	if !ok {
		return false
	}
	parts := [3][]byte{s, p, o}
	for i := range parts {
		if at := &u.Places[i]; at.Slot < 0 && string(parts[i]) != at.Term {
			return false
		}
	}
	// The parts share the memory of the term.
	whole := binding
	if isNumber {
		whole, u.number = u.Exec.Arena.Copy(term), number
	}
	if s, p, o, ok = triple.SplitTripleTerm(solution.BytesOf(whole)); ok {
		u.parts = [3]string{solution.StringOf(s), solution.StringOf(p), solution.StringOf(o)}
	}
	return ok
}

// bytesOf returns the encoded term of a binding, which may be a number, until the next call for the decoder.
func (q *Execution) bytesOf(d *solution.Decoder, binding string) []byte {
	if number, ok := solution.Number(binding); ok {
		return d.Bytes(q.Terms, number)
	}
	return solution.BytesOf(binding)
}

func (u *Unfold) Reset() { u.Input.Reset() }
func (u *Unfold) Close() { u.Input.Close() }

// fold appends the encoded triple term of the parts of a row to dst. ok is false if they make no triple.
func (e *Extend) fold(dst []byte, row []string) (term []byte, ok bool) {
	var parts [3][]byte
	for i := range e.Parts {
		if at := &e.Parts[i]; at.Slot < 0 {
			parts[i] = solution.BytesOf(at.Term)
		} else {
			parts[i] = e.Exec.bytesOf(&e.decoders[i], row[at.Slot])
		}
	}
	return triple.AppendTripleTerm(dst, parts[triple.Subject], parts[triple.Predicate], parts[triple.Object])
}
