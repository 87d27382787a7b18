// A run: solutions are pulled from the root, one at a time.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/triple"
)

// Run is an execution. It belongs to one goroutine; close it.
type Run struct {
	// Plan is the tree of operators.
	Plan *explain.Plan

	query *Execution
	root  Operator
	batch *solution.Batch
	at    int
	err   error
	terms []lastTerm // by slot, or for some slots together if there are very many
	ended bool
}

// lastTerm is the last decoded term of a variable, because neighbours often have the same.
type lastTerm struct {
	binding string
	term    triple.Term
}

// maxLastTerms bounds the decoded terms of a run, because only the length of a query's text bounds its
// variables.
const maxLastTerms = 64

// NewRun returns the execution of a plan, whose operators are all made.
func NewRun(q *Execution, root Operator, p *explain.Plan) *Run {
	q.Account.Divide(solution.CellBytes)
	return &Run{Plan: p, query: q, root: root, batch: q.NewBatch()}
}

// Next moves to the next solution. It returns false at the end and at an error.
func (r *Run) Next() bool {
	if r.ended {
		return false
	}
	if r.at++; r.at < r.batch.Len {
		return true
	}
	r.batch.Clear()
	r.at = 0
	if r.err = r.query.Check(); r.err == nil {
		r.err = r.root.Next(r.batch)
	}
	if r.err != nil || r.batch.Len == 0 {
		r.ended = true
		return false
	}
	return true
}

// Check is a checkpoint for the reader of the run (see [Options.Check]).
func (r *Run) Check() error { return r.query.Check() }

// Err returns the error if one ended Next, nil at the end of the solutions.
func (r *Run) Err() error { return r.err }

// Bound reports whether the solution binds a variable.
func (r *Run) Bound(slot int) bool { return r.batch.Row(r.at)[slot] != "" }

// Binding returns the whole encoded term of a variable, "" if it is unbound.
func (r *Run) Binding(slot int) string { return r.batch.Row(r.at)[slot] }

// Term returns the term of a variable, the zero Term if it is unbound.
func (r *Run) Term(slot int) triple.Term {
	binding := r.Binding(slot)
	if binding == "" {
		return triple.Term{}
	}
	if r.terms == nil {
		r.terms = make([]lastTerm, min(r.query.Width, maxLastTerms))
	}
	last := &r.terms[slot%len(r.terms)]
	if last.binding != binding {
		t, err := triple.DecodeTerm(solution.BytesOf(binding))
		if err != nil {
			return triple.Term{}
		}
		*last = lastTerm{binding, t}
	}
	return last.term
}

// NewBlank returns a fresh blank node, in no graph and no solution.
func (r *Run) NewBlank() triple.Term { return r.query.Blanks.Next() }

// Close ends the execution and frees its memory. It must be called.
func (r *Run) Close() {
	if r.root != nil {
		r.batch.Free()
		r.root.Close()
		r.root = nil
		for _, op := range r.query.Closers {
			op.Close()
		}
		r.query.Scratch.CloseAll()
		r.query.Account.End()
	}
	r.ended = true
}

// Held is memory of the reader of a Run, counted for the query.
type Held struct{ holder memory.Holder }

// Hold returns a part of the run's account, under a name for errors.
func (r *Run) Hold(name string) *Held {
	return &Held{memory.Holder{Account: r.query.Account, Name: name}}
}

// Grow counts bytes. An error wraps [memory.ErrMemory]; then they are not counted.
func (h *Held) Grow(bytes int) error { return h.holder.Grow(bytes) }

// Free gives back all bytes.
func (h *Held) Free() { h.holder.Free() }

// Held returns the bytes held by the run and its reader: 0 after Close.
func (r *Run) Held() int64 { return r.query.Account.Used }
