package exec

import (
	"bytes"
	"container/heap"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/expr"
)

// order sorts its input, stably. With a top it holds no more rows than that: the
// first ones of the order. What does not fit is written to temporary files, each
// of them sorted, which are merged.
type order struct {
	q    *query
	in   operator
	keys []orderKey
	env  *expr.Env
	top  int64 // negative: all
	// inSequence: the rows come in the order that their keys of the first
	// condition, a variable, have in the store. Then a full heap can end the input.
	inSequence int // the variable's slot, else negative
	holder

	view  rowView
	sides [2]rowView // of compareValues
	rows  []*sorted
	built bool
	at    int
	seq   uint64
	stop  bool
	key   []byte
	arena arena
	runs  *runs // nil while all rows fit
	count int   // comparisons
	err   error // what ended them
}

type orderKey struct {
	expr       *expr.Expr
	descending bool
}

// sorted is a row with its sort key. Its record's a is the number of the row, and
// its b is cut where the key is not exact.
type sorted struct {
	record
	first int // bytes of the first condition; 0 where later ones may go before it
	bytes int
}

const cut = 1

func (o *order) next(out *batch) error {
	if !o.built {
		if err := o.build(); err != nil {
			return err
		}
		o.built = true
	}
	if o.runs != nil {
		for !out.full() {
			r, err := o.runs.next()
			if err == nil {
				err = o.failed()
			}
			if err != nil || r == nil {
				return err
			}
			out.addRead(r.row, 0)
		}
		return nil
	}
	for ; o.at < len(o.rows) && !out.full(); o.at++ {
		out.add(o.rows[o.at].row, 0)
		o.rows[o.at] = nil
	}
	return nil
}

func (o *order) build() error {
	in := newBatch(o.q.width)
	for {
		in.clear()
		if err := o.q.check(); err != nil {
			return err
		}
		if err := o.in.next(in); err != nil {
			return err
		}
		if in.n == 0 {
			break
		}
		for i := range in.n {
			if err := o.add(in.row(i)); err != nil {
				return err
			}
		}
		if o.stop {
			break
		}
	}
	if o.runs == nil {
		return o.sort()
	}
	if err := o.spill(); err != nil {
		return err
	}
	if err := o.runs.start(); err != nil {
		return err
	}
	return o.failed()
}

// sort sorts the rows that are held.
func (o *order) sort() error {
	slices.SortFunc(o.rows, func(a, b *sorted) int { return o.compare(&a.record, &b.record) })
	return o.failed()
}

// failed returns what ended comparisons, or the values that they are of.
func (o *order) failed() error {
	if o.err != nil {
		return o.err
	}
	return o.env.Err()
}

// spill writes the rows that are held to a file.
func (o *order) spill() error {
	if o.runs == nil {
		o.runs = &runs{
			scratch: &o.q.scratch, holder: &o.holder, fields: o.q.width, check: o.q.check, compare: o.compare,
		}
		o.top = -1 // of what is merged, who asked for the top takes no more
	}
	if len(o.rows) == 0 {
		return nil
	}
	if err := o.sort(); err != nil {
		return err
	}
	run, err := o.runs.create()
	if err != nil {
		return err
	}
	for _, row := range o.rows {
		if err := o.q.tick(); err != nil {
			return err
		}
		if err := run.add(row.record); err != nil {
			return err
		}
	}
	o.rows = o.rows[:0]
	clear(o.rows[:cap(o.rows)])
	o.arena = arena{}
	o.free()
	if err := o.runs.add(run); err != nil {
		return err
	}
	return o.failed()
}

func (o *order) add(row []string) error {
	if o.top == 0 {
		return nil
	}
	if err := o.q.tick(); err != nil {
		return err
	}
	o.env.NextSolution()
	view := o.view.of(row)
	one := sorted{record: record{a: o.seq, row: row}}
	o.seq++
	key, exact := o.key[:0], true
	for i, k := range o.keys {
		if i == 1 {
			one.first = len(key)
		}
		v := k.expr.Eval(o.env, view)
		if err := o.env.Err(); err != nil {
			return err
		}
		if key, exact = expr.AppendSortKey(key, v, k.descending); !exact {
			one.b = cut
			break
		}
	}
	o.key = key
	if len(o.keys) == 1 && exact {
		one.first = len(key)
	}
	one.key = stringOf(key)
	full := o.top > 0 && int64(len(o.rows)) >= o.top
	if full && o.compare(&one.record, &o.rows[0].record) >= 0 {
		o.stop = o.stop || o.passed(&one, row)
		return o.failed()
	}
	one.bytes = len(key) + 16*len(row) + sortedBytes
	for _, cell := range row {
		one.bytes += len(cell)
	}
	if full {
		o.shrink(o.held - int64(o.rows[0].bytes))
	}
	if err := o.grow(one.bytes); err != nil {
		if !errors.Is(err, ErrMemory) || !o.q.spills() {
			return err
		}
		if full {
			o.take(o.rows[0].bytes)
			full = false
		}
		if err := o.spill(); err != nil {
			return err
		}
		if err := o.grow(one.bytes); err != nil {
			return err
		}
	}
	o.keep(&one)
	switch {
	case full:
		o.rows[0] = &one
		heap.Fix(o, 0)
	case o.top > 0:
		heap.Push(o, &one)
	default:
		o.rows = append(o.rows, &one)
	}
	return o.failed()
}

// sortedBytes are counted for a row besides its bindings and its key.
const sortedBytes = 128

// keep copies what the row and its key point to. Rows that may leave a heap one by
// one have memory of their own.
func (o *order) keep(one *sorted) {
	own := func(b []byte) string { return o.arena.keep(b) }
	if o.top > 0 {
		own = func(b []byte) string { return string(b) }
	}
	one.key = own(bytesOf(one.key))
	one.row = slices.Clone(one.row)
	for i, cell := range one.row {
		if cell != "" {
			one.row[i] = own(bytesOf(cell))
		}
	}
}

// tagOther is the first byte of terms whose order in the store is not that of
// ORDER BY: durations stand among them.
const tagOther = 0x37

// passed reports whether all rows that follow one come behind the rows that the
// full heap has.
//
// The order of keys is that of ORDER BY but for terms of tagOther, and for long
// terms, which stand where their beginnings do, in any order: what has an exact
// sort key is shorter than such a beginning, and stands right among them.
func (o *order) passed(one *sorted, row []string) bool {
	if o.inSequence < 0 || one.first == 0 {
		return false
	}
	if binding := row[o.inSequence]; binding == "" || binding[0] >= tagOther {
		return false
	}
	last := o.rows[0]
	return one.key[:one.first] > last.key[:min(one.first, len(last.key))] && last.first > 0
}

// compare compares two rows in the order of the keys, then as they came. Once the
// query has ended, all are equal, so that a sort ends soon.
func (o *order) compare(a, b *record) int {
	if o.count++; o.count%batchRows == 0 && o.err == nil {
		o.err = o.q.check()
	}
	if o.err != nil {
		return 0
	}
	if a.key != b.key {
		return bytes.Compare(bytesOf(a.key), bytesOf(b.key))
	}
	if a.b == cut || b.b == cut {
		if c := o.compareValues(a, b); c != 0 {
			return c
		}
	}
	return byNumber(a, b)
}

func (o *order) compareValues(a, b *record) int {
	if o.err = o.q.check(); o.err != nil {
		return 0
	}
	for _, k := range o.keys {
		left, right := o.sides[0].of(a.row), o.sides[1].of(b.row)
		c := expr.Compare(k.expr.Eval(o.env, left), k.expr.Eval(o.env, right))
		if k.descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// The rows are a heap with the last of the order on top, while top is known.

func (o *order) Len() int           { return len(o.rows) }
func (o *order) Less(i, j int) bool { return o.compare(&o.rows[i].record, &o.rows[j].record) > 0 }
func (o *order) Swap(i, j int)      { o.rows[i], o.rows[j] = o.rows[j], o.rows[i] }
func (o *order) Push(x any)         { o.rows = append(o.rows, x.(*sorted)) }
func (o *order) Pop() any           { panic("exec: the heap of ORDER BY only grows") }

func (o *order) drop() {
	o.rows, o.built, o.at, o.seq, o.stop, o.arena = nil, false, 0, 0, false, arena{}
	o.runs.close()
	o.runs = nil
	o.free()
}

func (o *order) reset()           { o.drop(); o.in.reset() }
func (o *order) close()           { o.drop(); o.in.close() }
func (o *order) spiller() *holder { return &o.holder }
