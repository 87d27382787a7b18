package exec

import (
	"bytes"
	"container/heap"
	"slices"

	"github.com/trefoildb/trefoil/sparql/expr"
)

// order sorts its input, stably. With a top it holds no more rows than that: the
// first ones of the order.
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
	rows  []*sorted
	built bool
	at    int
	seq   int64
	stop  bool
}

type orderKey struct {
	expr       *expr.Expr
	descending bool
}

// sorted is a row with its sort key.
type sorted struct {
	key   string
	first int // bytes of the first condition; 0 where later ones may go before it
	exact bool
	seq   int64
	cells []string
	bytes int
}

func (o *order) next(out *batch) error {
	if !o.built {
		if err := o.build(); err != nil {
			return err
		}
		o.built = true
	}
	for ; o.at < len(o.rows) && !out.full(); o.at++ {
		out.add(o.rows[o.at].cells, 0)
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
	slices.SortFunc(o.rows, o.compare)
	return o.env.Err()
}

func (o *order) add(row []string) error {
	if o.top == 0 {
		return nil
	}
	o.env.NextSolution()
	view := o.view.of(row)
	one := sorted{exact: true, seq: o.seq}
	o.seq++
	var key []byte
	for i, k := range o.keys {
		if i == 1 {
			one.first = len(key)
		}
		v := k.expr.Eval(o.env, view)
		if err := o.env.Err(); err != nil {
			return err
		}
		if key, one.exact = expr.AppendSortKey(key, v, k.descending); !one.exact {
			break
		}
	}
	if len(o.keys) == 1 && one.exact {
		one.first = len(key)
	}
	one.key = string(key)
	one.cells = row
	full := o.top > 0 && int64(len(o.rows)) >= o.top
	if full && o.compare(&one, o.rows[0]) >= 0 {
		o.stop = o.stop || o.passed(&one, row)
		return nil
	}
	one.bytes = len(key) + 16*len(row) + 96
	one.cells = make([]string, len(row))
	for i, cell := range row {
		one.bytes += len(cell)
		one.cells[i] = string(append([]byte(nil), cell...))
	}
	if full {
		o.account.used -= int64(o.rows[0].bytes)
		o.held -= int64(o.rows[0].bytes)
	}
	if err := o.grow(one.bytes); err != nil {
		return err
	}
	switch {
	case full:
		o.rows[0] = &one
		heap.Fix(o, 0)
	case o.top > 0:
		heap.Push(o, &one)
	default:
		o.rows = append(o.rows, &one)
	}
	return nil
}

// tagOther is the first byte of terms whose order in the store is not that of
// ORDER BY: durations stand among them.
const tagOther = 0x37

// passed tells whether all rows that follow one come behind the rows that the
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

// compare compares two rows in the order of the keys, then as they came.
func (o *order) compare(a, b *sorted) int {
	if a.key != b.key {
		return bytes.Compare(bytesOf(a.key), bytesOf(b.key))
	}
	if !a.exact || !b.exact {
		if c := o.compareValues(a, b); c != 0 {
			return c
		}
	}
	switch {
	case a.seq < b.seq:
		return -1
	case a.seq > b.seq:
		return 1
	}
	return 0
}

func (o *order) compareValues(a, b *sorted) int {
	var left, right rowView
	for _, k := range o.keys {
		c := expr.Compare(k.expr.Eval(o.env, left.of(a.cells)), k.expr.Eval(o.env, right.of(b.cells)))
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
func (o *order) Less(i, j int) bool { return o.compare(o.rows[i], o.rows[j]) > 0 }
func (o *order) Swap(i, j int)      { o.rows[i], o.rows[j] = o.rows[j], o.rows[i] }
func (o *order) Push(x any)         { o.rows = append(o.rows, x.(*sorted)) }
func (o *order) Pop() any           { panic("exec: the heap of ORDER BY only grows") }

func (o *order) drop() {
	o.rows, o.built, o.at, o.seq, o.stop = nil, false, 0, 0, false
	o.free()
}

func (o *order) reset() { o.drop(); o.in.reset() }
func (o *order) close() { o.drop(); o.in.close() }
