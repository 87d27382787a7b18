// Solutions of queries.

package client

import (
	"iter"
	"slices"

	"github.com/trefoildb/trefoil/triple"
)

// Solution is a row of a SELECT's result: terms by the names of variables. It is
// the caller's to keep.
type Solution struct {
	head *head
	row  []triple.Term
}

// head is what all solutions of a result share.
type head struct {
	vars    []string
	columns map[string]int
}

func newHead(vars []string) *head {
	h := &head{vars: slices.Clone(vars), columns: make(map[string]int, len(vars))}
	for i, name := range vars {
		h.columns[name] = i
	}
	return h
}

func newSolution(h *head, row []triple.Term) Solution { return Solution{h, slices.Clone(row)} }

// Term returns the term of a variable, named without "?"; the zero Term where it is
// unbound, or none of the result's.
func (s Solution) Term(name string) triple.Term {
	t, _ := s.Lookup(name)
	return t
}

// Lookup returns the term of a variable, and whether it is bound.
func (s Solution) Lookup(name string) (triple.Term, bool) {
	if s.head == nil {
		return triple.Term{}, false
	}
	i, ok := s.head.columns[name]
	if !ok || s.row[i].IsZero() {
		return triple.Term{}, false
	}
	return s.row[i], true
}

// Vars returns the names of the result's variables, in the query's order. They
// are shared by all solutions: do not change them.
func (s Solution) Vars() []string {
	if s.head == nil {
		return nil
	}
	return s.head.vars
}

// Terms returns a term for each of Vars, zero where it is unbound.
func (s Solution) Terms() []triple.Term { return s.row }

// All yields the variables that are bound, with their terms.
func (s Solution) All() iter.Seq2[string, triple.Term] {
	return func(yield func(string, triple.Term) bool) {
		for i, t := range s.row {
			if !t.IsZero() && !yield(s.head.vars[i], t) {
				return
			}
		}
	}
}
