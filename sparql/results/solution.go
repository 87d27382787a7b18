// Solutions of queries.

package results

import (
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// Solution is one solution of a SELECT: terms by the names of variables. The caller
// owns it.
type Solution struct {
	header *Header
	row    []triple.Term
}

// Header has the variables of a result. All solutions of the result share it.
type Header struct {
	vars    []string
	columns map[string]int
}

// NewHeader returns the header of variables, named without "?". It copies vars.
func NewHeader(vars []string) *Header {
	h := &Header{vars: slices.Clone(vars), columns: make(map[string]int, len(vars))}
	for i, name := range vars {
		h.columns[name] = i
	}
	return h
}

// Solution returns the solution with a term for each variable, zero if it is unbound.
// It copies row.
func (h *Header) Solution(row []triple.Term) Solution { return Solution{h, slices.Clone(row)} }

// Term returns the term of a variable, named without "?"; the zero Term if it is
// unbound, or if the result has no such variable.
func (s Solution) Term(name string) triple.Term {
	t, _ := s.Lookup(name)
	return t
}

// Lookup returns the term of a variable, and whether it is bound.
func (s Solution) Lookup(name string) (triple.Term, bool) {
	if s.header == nil {
		return triple.Term{}, false
	}
	i, ok := s.header.columns[name]
	if !ok || s.row[i].IsZero() {
		return triple.Term{}, false
	}
	return s.row[i], true
}

// Vars returns the names of the result's variables, in the query's order. All
// solutions share the slice: the caller must not change it.
func (s Solution) Vars() []string {
	if s.header == nil {
		return nil
	}
	return s.header.vars
}

// Terms returns a term for each of Vars, zero if it is unbound.
func (s Solution) Terms() []triple.Term { return s.row }

// All yields the bound variables with their terms.
func (s Solution) All() iter.Seq2[string, triple.Term] {
	return func(yield func(string, triple.Term) bool) {
		for i, t := range s.row {
			if !t.IsZero() && !yield(s.header.vars[i], t) {
				return
			}
		}
	}
}
