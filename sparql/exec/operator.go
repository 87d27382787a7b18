// The contract of operators, and the leaves of a plan.

package exec

import (
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
)

// Operator gives rows. It belongs to one goroutine.
type Operator interface {
	// Next appends the next rows to out. The caller must pass an empty batch. Next appends at
	// least one row, or none at the end and from then on.
	Next(out *solution.Batch) error
	// Reset begins anew, over the present rows of the feed below. It must be called when the
	// feed has changed.
	Reset()
	// Close frees the memory of the operator and of those below it.
	Close()
}

// Feed holds the first rows of a lateral run.
type Feed struct{ Rows *solution.Batch }

// FeedReader gives the rows of a feed. Each comes from itself.
type FeedReader struct {
	Feed *Feed
	done bool
}

func (r *FeedReader) Next(out *solution.Batch) error {
	if r.done || r.Feed.Rows == nil {
		return nil
	}
	r.done = true
	for i := range r.Feed.Rows.Len {
		out.Add(r.Feed.Rows.Row(i), int32(i))
	}
	return nil
}

func (r *FeedReader) Reset() { r.done = false }
func (r *FeedReader) Close() {}

// Unit gives one row without bindings.
type Unit struct{ done bool }

func (u *Unit) Next(out *solution.Batch) error {
	if !u.done {
		u.done = true
		out.Grow(out.Width)
		for range out.Width {
			out.Cells = append(out.Cells, "")
		}
		out.Origin = append(out.Origin, 0)
		out.Len++
	}
	return nil
}

func (u *Unit) Reset() { u.done = false }
func (u *Unit) Close() {}

// Empty gives no rows, or an error.
type Empty struct{ err error }

func (n Empty) Next(*solution.Batch) error { return n.err }
func (Empty) Reset()                       {}
func (Empty) Close()                       {}

// Traced counts the rows of an operator, and reserves the memory of its batches.
type Traced struct {
	Operator Operator
	Exec     *Execution
	Plan     *explain.Plan
}

// uncheckedBytes is how many bytes may be taken between two checkpoints. Operators count rows up to
// a checkpoint, but one row of each of thousands of operators may take gigabytes if it is wide.
const uncheckedBytes = 1 << 20

func (t *Traced) Next(out *solution.Batch) error {
	if t.Exec.Options.Nanos == nil {
		return t.next(out)
	}
	start := t.Exec.Options.Nanos()
	err := t.next(out)
	t.Plan.Nanos += t.Exec.Options.Nanos() - start
	return err
}

func (t *Traced) next(out *solution.Batch) error {
	err := t.Operator.Next(out)
	t.Plan.Rows += int64(out.Len)
	if err == nil && t.Exec.Account.Owed >= uncheckedBytes {
		return t.Exec.Check()
	}
	return err
}

func (t *Traced) Reset() { t.Operator.Reset() }
func (t *Traced) Close() { t.Operator.Close() }

// Sizes of chunks, in rows.
const (
	FirstChunkRows = 16
	LastChunkRows  = 4 * solution.BatchRows
)

// SoftLimit bounds the rows of an operator's batch: few at first, because the caller may need
// no more.
type SoftLimit int

func (s *SoftLimit) Next() int {
	*s = min(max(2**s, FirstChunkRows), solution.BatchRows)
	return int(*s)
}
