package exec

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/expr"
)

// joinKind says what a hashJoin gives.
type joinKind uint8

const (
	innerJoin joinKind = iota
	leftJoin
	minus
)

// hashJoin holds its right side and gives the rows of its left side joined with
// it, in the order of the left. A right side that does not fit goes to temporary
// files: see [grace].
type hashJoin struct {
	q           *query
	kind        joinKind
	left, right operator
	shared      []int // slots that both sides may bind
	domain      []int // of minus: those that count as shared
	conds       []*expr.Expr
	env         *expr.Env
	again       bool // the right side gives other rows after a reset: it starts from the feed too, or is of the next graph
	keepOrder   bool // rows must come in the order of the left even from files

	table *hashTable
	built bool
	view  rowView
	input *batch
	at    int
	tries candidates
	some  bool // the row has a match
	begun bool
	grace *grace // nil while the right side is in the table
}

func (j *hashJoin) next(out *batch) error {
	if !j.built {
		if err := j.build(); err != nil {
			return err
		}
		j.built = true
	}
	if j.grace != nil {
		return j.grace.next(out)
	}
	for {
		if j.at >= j.input.n {
			if out.n > 0 {
				return nil
			}
			if err := j.q.check(); err != nil {
				return err
			}
			j.input.clear()
			j.at = 0
			if err := j.left.next(j.input); err != nil || j.input.n == 0 {
				return err
			}
		}
		if err := j.probe(out); err != nil {
			return err
		}
		if out.full() {
			return nil
		}
	}
}

// build takes all rows of the right side.
func (j *hashJoin) build() error {
	in := newBatch(j.q.width)
	for {
		in.clear()
		if err := j.q.check(); err != nil {
			return err
		}
		if err := j.right.next(in); err != nil || in.n == 0 {
			if err == nil && j.grace != nil {
				err = j.grace.built()
			}
			return err
		}
		for i := range in.n {
			if err := j.take(in.row(i)); err != nil {
				return err
			}
		}
	}
}

// take takes a row of the right side.
func (j *hashJoin) take(row []string) error {
	if j.grace != nil {
		return j.grace.addRight(row)
	}
	err := j.table.put(row)
	if !errors.Is(err, ErrMemory) || !j.q.spills() {
		return err
	}
	j.grace = newGrace(j)
	for i := range j.table.n {
		if i%batchRows == 0 {
			if err := j.q.check(); err != nil {
				return err
			}
		}
		if err := j.grace.addRight(j.table.row(i)); err != nil {
			return err
		}
	}
	j.table.free()
	return j.grace.addRight(row)
}

// probe gives matches of the row at j.at until out is full or it has no more.
func (j *hashJoin) probe(out *batch) error {
	row, ord := j.input.row(j.at), j.input.ord[j.at]
	if !j.begun {
		j.tries = j.table.candidates(row)
		j.some, j.begun = false, true
		if j.grace != nil && j.grace.wasMatched(j.at) {
			j.some = true
			if j.kind == minus {
				j.tries.end()
			}
		}
	}
	for n := 1; ; n++ {
		if out.full() {
			return nil
		}
		if n%batchRows == 0 {
			if err := j.q.check(); err != nil {
				return err
			}
		}
		other, ok := j.tries.next()
		if !ok {
			break
		}
		if !compatible(row, other, j.shared) {
			continue
		}
		if j.kind == minus {
			if j.sharesDomain(row, other) {
				j.some = true
				j.tries.end()
			}
			continue
		}
		merge(out.add(row, ord), other)
		if len(j.conds) > 0 {
			if err := j.q.tick(); err != nil {
				return err
			}
			ok, err := test(j.env, j.conds, j.view.of(out.row(out.n-1)))
			if err != nil {
				return err
			}
			if !ok {
				out.drop()
				continue
			}
		}
		j.some = true
	}
	switch {
	case j.grace != nil:
		j.grace.probed(out, j.at, j.some)
	case !j.some && j.kind != innerJoin:
		out.add(row, ord)
	}
	j.begun = false
	j.at++
	return nil
}

func (j *hashJoin) sharesDomain(a, b []string) bool {
	for _, slot := range j.domain {
		if a[slot] != "" && b[slot] != "" {
			return true
		}
	}
	return false
}

func (j *hashJoin) reset() {
	if j.grace != nil {
		j.grace.rewind()
	}
	if j.again {
		j.drop()
		j.right.reset()
	}
	j.left.reset()
	j.input.clear()
	j.at, j.begun = 0, false
}

func (j *hashJoin) drop() {
	if j.grace != nil {
		j.grace.close()
		j.grace = nil
	}
	j.table.free()
	j.built = false
}

func (j *hashJoin) close() {
	j.drop()
	j.left.close()
	j.right.close()
}

func (j *hashJoin) setPlan(p *Plan)  { j.table.setPlan(p) }
func (j *hashJoin) spiller() *holder { return &j.table.holder }
