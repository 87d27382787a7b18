// Hash joins: inner, left, and MINUS.

package blocking

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/explain"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// JoinKind is the result of a HashJoin.
type JoinKind uint8

const (
	InnerJoin JoinKind = iota
	LeftJoin
	Minus
)

// HashJoin holds its right side and gives the rows of its left side joined with it, in the
// order of the left. If the right side does not fit, it goes to temporary files: see [grace].
type HashJoin struct {
	Exec        *exec.Execution
	Kind        JoinKind
	Left, Right exec.Operator
	Shared      []int // slots with bindings on both sides
	Domain      []int // of minus: the slots counted as shared
	Conditions  []*expr.Expr
	Env         *expr.Env
	Again       bool // the right side gives other rows after a reset: it starts from the feed too, or is of the next graph
	KeepOrder   bool // rows must come in the order of the left even from files

	Table *solution.HashTable
	built bool
	view  solution.View
	Batch *solution.Batch
	at    int
	tries solution.Candidates
	some  bool // the row has a match
	begun bool
	grace *grace // nil while the right side is in the table
}

func (j *HashJoin) Next(out *solution.Batch) error {
	// 1. Take the right side.
	if !j.built {
		if err := j.build(); err != nil {
			return err
		}
		j.built = true
	}
	// 2. If it did not fit, partitions are joined one by one.
	if j.grace != nil {
		return j.grace.next(out)
	}
	for {
		// 3. Probe the left side, a batch at a time.
		if j.at >= j.Batch.Len {
			if out.Len > 0 {
				return nil
			}
			if err := j.Exec.Check(); err != nil {
				return err
			}
			j.Batch.Clear()
			j.at = 0
			if err := j.Left.Next(j.Batch); err != nil || j.Batch.Len == 0 {
				return err
			}
		}
		if err := j.probe(out); err != nil {
			return err
		}
		if out.Full() {
			return nil
		}
	}
}

// build takes all rows of the right side.
func (j *HashJoin) build() error {
	in := j.Exec.NewBatch()
	defer in.Free()
	for {
		in.Clear()
		if err := j.Exec.Check(); err != nil {
			return err
		}
		if err := j.Right.Next(in); err != nil || in.Len == 0 {
			if err == nil && j.grace != nil {
				err = j.grace.built()
			}
			return err
		}
		for i := range in.Len {
			if err := j.take(in.Row(i)); err != nil {
				return err
			}
		}
	}
}

// take takes a row of the right side.
func (j *HashJoin) take(row []string) error {
	if j.grace != nil {
		return j.grace.addRight(row)
	}
	err := j.Table.Put(row)
	if !errors.Is(err, memory.ErrMemory) || !j.Exec.Spills() {
		return err
	}
	j.grace = newGrace(j)
	for i := range j.Table.Len {
		if i%solution.BatchRows == 0 {
			if err := j.Exec.Check(); err != nil {
				return err
			}
		}
		if err := j.grace.addRight(j.Table.Row(i)); err != nil {
			return err
		}
	}
	j.Table.Free()
	return j.grace.addRight(row)
}

// probe gives matches of the row at j.at until out is full or it has no more.
func (j *HashJoin) probe(out *solution.Batch) error {
	// 1. Look the row up, unless a full batch interrupted its matches.
	row, ord := j.Batch.Row(j.at), j.Batch.Origin[j.at]
	if !j.begun {
		j.tries = j.Table.Candidates(row)
		j.some, j.begun = false, true
		if j.grace != nil && j.grace.wasMatched(j.at) {
			j.some = true
			// MINUS removes a row only if both bind a shared variable.
			if j.Kind == Minus {
				j.tries.End()
			}
		}
	}
	// 2. Try the candidates. Equal keys do not suffice, because other variables may be shared
	// too.
	for n := 1; ; n++ {
		if out.Full() {
			return nil
		}
		if n%solution.BatchRows == 0 {
			if err := j.Exec.Check(); err != nil {
				return err
			}
		}
		other, ok := j.tries.Next()
		if !ok {
			break
		}
		if !solution.Compatible(row, other, j.Shared) {
			continue
		}
		if j.Kind == Minus {
			if j.sharesDomain(row, other) {
				j.some = true
				j.tries.End()
			}
			continue
		}
		solution.Merge(out.Add(row, ord), other)
		if len(j.Conditions) > 0 {
			if err := j.Exec.Tick(); err != nil {
				return err
			}
			ok, err := exec.Holds(j.Env, j.Conditions, j.view.MoveTo(out.Row(out.Len-1), j.Exec.Terms), j.Table.Plan.Conditions)
			if err != nil {
				return err
			}
			if !ok {
				out.DropLast()
				continue
			}
		}
		j.some = true
	}
	// 3. A row without a match stays in a left join and in MINUS. With files only the last pass
	// decides, because earlier ones had a part of the right side.
	switch {
	case j.grace != nil:
		j.grace.probed(out, j.at, j.some)
	case !j.some && j.Kind != InnerJoin:
		out.Add(row, ord)
	}
	j.begun = false
	j.at++
	return nil
}

func (j *HashJoin) sharesDomain(a, b []string) bool {
	for _, slot := range j.Domain {
		if a[slot] != "" && b[slot] != "" {
			return true
		}
	}
	return false
}

func (j *HashJoin) Reset() {
	if j.grace != nil {
		j.grace.rewind()
	}
	if j.Again {
		j.drop()
		j.Right.Reset()
	}
	j.Left.Reset()
	j.Batch.Clear()
	j.at, j.begun = 0, false
}

func (j *HashJoin) drop() {
	if j.grace != nil {
		j.grace.close()
		j.grace = nil
	}
	j.Table.Free()
	j.built = false
}

func (j *HashJoin) Close() {
	j.drop()
	j.Batch.Free()
	j.Left.Close()
	j.Right.Close()
}

func (j *HashJoin) SetPlan(p *explain.Plan) { j.Table.SetPlan(p.WithConditions(len(j.Conditions))) }
func (j *HashJoin) Sharer() *memory.Holder  { return &j.Table.Holder }
