// A run: solutions are pulled from the root, one at a time.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/triple"
)

// Run is an execution. It belongs to one goroutine; close it.
//
// The reader of a result may want all of it, or the first rows, or may go away. So nothing runs ahead
// of the reader: a solution is computed when Next is called. Calls from operator to operator for each
// row would cost more than the rows, so operators hand on batches. Each operator holds one or two, so
// the size of a batch follows from the memory of the query and the number of operators
// ([memory.Account.Divide]).
//
// Invariants:
//
//  1. An operator gets an empty batch and appends at least one row, or none: then it has ended, and
//     gives none from then on ([Operator]). So an empty batch at the root is the end.
//  2. All operators are made before the run begins, because Divide needs their number.
//  3. The state of an operator is counted, and reserved, before it is held ([memory.Holder.Grow]).
//     Batches and operators are counted at once, and reserved at the next checkpoint ([Execution.Check]);
//     [Traced] makes one as soon as uncheckedBytes are not reserved.
//  4. The slots of the root hold terms, or nothing: numbers of columns have become terms below it
//     ([Terms]). A binding stays valid, because an arena never writes a byte twice.
//  5. After an error Next returns false. The rows before it were right, but the answer is not
//     complete, so the reader must not present it as whole.
//
// The protocol:
//
//	NewRun    divide the memory into shares and the size of batches
//	Next      the next row of the batch; if it has none:
//	            clear the batch
//	            Check: reserve what was taken; wait for memory or a turn; the query may have to end
//	            root.Next(batch) -> the operators below, each of them
//	              pulls a batch from its input, or reads ranges of the source
//	              keeps what it must: in memory, counted, or in temporary files
//	            an error or no rows: ended
//	Term      decode the binding of a slot, unless it is the one decoded last
//	Close     free the batch, the tree from its root, the operators of EXISTS, which are in no tree,
//	          then the temporary files and the account
//
// Close must be called after an error, too, because no garbage collector frees temporary files and
// reservations. It may be called twice.
type Run struct {
	// Plan is the tree of operators. It is never nil.
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
