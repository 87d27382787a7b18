// ORDER BY: a sort, or a heap if only the first rows are wanted.

package blocking

import (
	"bytes"
	"container/heap"
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/sparql/expr"
)

// OrderBy sorts its input, stably. With a top it holds only the first top rows of the order. If
// rows do not fit, they are written to temporary files. Each file is sorted, and all are
// merged.
type OrderBy struct {
	Exec  *exec.Execution
	Input exec.Operator
	Keys  []OrderKey
	Env   *expr.Env
	Top   int64 // negative: all
	// InSequence: the first condition is a variable, and the rows come in the order of its keys
	// in the store. Then a full heap may end the input.
	InSequence int // the variable's slot, else negative
	memory.Holder

	view  solution.View
	sides [2]solution.View // of compareValues
	rows  []*sorted
	built bool
	at    int
	seq   uint64
	stop  bool
	key   []byte
	arena solution.Arena
	runs  *spill.Runs // nil while all rows fit
	count int         // comparisons
	err   error       // the error, if one ended them
}

// OrderKey is a condition of ORDER BY.
type OrderKey struct {
	Expr       *expr.Expr
	Descending bool
}

// sorted is a row with its sort key. Its record's a is the number of the row, and
// its b is cut if the key is not exact.
type sorted struct {
	spill.Record
	first int // bytes of the first condition; 0 if later ones may go before it
	bytes int
}

const cut = 1

func (o *OrderBy) Next(out *solution.Batch) error {
	if !o.built {
		if err := o.build(); err != nil {
			return err
		}
		o.built = true
	}
	if o.runs != nil {
		for !out.Full() {
			r, err := o.runs.Next()
			if err == nil {
				err = o.failed()
			}
			if err != nil || r == nil {
				return err
			}
			out.AddRead(r.Row, 0)
		}
		return nil
	}
	for ; o.at < len(o.rows) && !out.Full(); o.at++ {
		out.Add(o.rows[o.at].Row, 0)
		o.rows[o.at] = nil
	}
	return nil
}

func (o *OrderBy) build() error {
	in := o.Exec.NewBatch()
	defer in.Free()
	for {
		// 1. Take the input's rows. A full heap may end them early if they come in the order of
		// the store.
		in.Clear()
		if err := o.Exec.Check(); err != nil {
			return err
		}
		if err := o.Input.Next(in); err != nil {
			return err
		}
		if in.Len == 0 {
			break
		}
		for i := range in.Len {
			if err := o.add(in.Row(i)); err != nil {
				return err
			}
		}
		if o.stop {
			break
		}
	}
	// 2. Sort in memory if all rows fit.
	if o.runs == nil {
		return o.sort()
	}
	// 3. Otherwise the rest becomes a run too, and all runs are merged.
	if err := o.spill(); err != nil {
		return err
	}
	if err := o.runs.Start(); err != nil {
		return err
	}
	return o.failed()
}

// sort sorts the rows held.
func (o *OrderBy) sort() error {
	slices.SortFunc(o.rows, func(a, b *sorted) int { return o.compare(&a.Record, &b.Record) })
	return o.failed()
}

// failed returns the error if one ended comparisons, or the evaluation of their values.
func (o *OrderBy) failed() error {
	if o.err != nil {
		return o.err
	}
	return o.Env.Err()
}

// spill writes the rows held to a file.
func (o *OrderBy) spill() error {
	// 1. From now on a heap would need the rows of the files, so all rows are kept.
	if o.runs == nil {
		o.runs = &spill.Runs{
			Scratch: &o.Exec.Scratch, Holder: &o.Holder, Fields: o.Exec.Width, Check: o.Exec.Check, Compare: o.compare,
		}
		o.Top = -1 // a reader of merged runs takes no more than the top
	}
	if len(o.rows) == 0 {
		return nil
	}
	if err := o.sort(); err != nil {
		return err
	}
	// 2. Write the sorted rows as a run.
	run, err := o.runs.Create()
	if err != nil {
		return err
	}
	for _, row := range o.rows {
		if err := o.Exec.Tick(); err != nil {
			return err
		}
		if err := run.Add(row.Record); err != nil {
			return err
		}
	}
	// 3. Give the memory back.
	o.rows = o.rows[:0]
	clear(o.rows[:cap(o.rows)])
	o.arena = solution.Arena{}
	o.Free()
	if err := o.runs.Add(run); err != nil {
		return err
	}
	return o.failed()
}

func (o *OrderBy) add(row []string) error {
	if o.Top == 0 {
		return nil
	}
	if err := o.Exec.Tick(); err != nil {
		return err
	}
	o.Env.NextSolution()
	view := o.view.MoveTo(row, o.Exec.Terms)
	one := sorted{Record: spill.Record{A: o.seq, Row: row}}
	o.seq++
	// 1. Make the sort key. If a value has no exact one, the key is cut there and rows are
	// compared by values.
	full := o.Top > 0 && int64(len(o.rows)) >= o.Top
	key, exact := o.key[:0], true
	for i, k := range o.Keys {
		if i == 1 {
			one.first = len(key)
			// Behind a full heap, the other values are not needed.
			if full && o.sortsBehind(key) {
				break
			}
		}
		v := k.Expr.Eval(o.Env, view)
		if err := o.Env.Err(); err != nil {
			return err
		}
		if key, exact = expr.AppendSortKey(key, v, k.Descending); !exact {
			one.B = cut
			break
		}
	}
	o.key = key
	if len(o.Keys) == 1 && exact {
		one.first = len(key)
	}
	one.Key = solution.StringOf(key)
	// 2. A row behind a full heap is dropped, and may end the input.
	if full && o.compare(&one.Record, &o.rows[0].Record) >= 0 {
		o.stop = o.stop || o.passed(&one, row)
		return o.failed()
	}
	one.bytes = len(key) + 16*len(row) + sortedBytes
	for _, cell := range row {
		one.bytes += len(cell)
	}
	if full {
		o.ShrinkTo(o.Held - int64(o.rows[0].bytes))
	}
	// 3. Count the row. If there is no room, the rows go to a file and it is tried once more.
	if err := o.Grow(one.bytes); err != nil {
		if !errors.Is(err, memory.ErrMemory) || !o.Exec.Spills() {
			return err
		}
		if full {
			o.Take(o.rows[0].bytes)
			full = false
		}
		if err := o.spill(); err != nil {
			return err
		}
		if err := o.Grow(one.bytes); err != nil {
			return err
		}
	}
	// 4. Keep a copy, in the heap or in the list.
	o.keep(&one)
	switch {
	case full:
		o.rows[0] = &one
		heap.Fix(o, 0)
	case o.Top > 0:
		heap.Push(o, &one)
	default:
		o.rows = append(o.rows, &one)
	}
	return o.failed()
}

// sortedBytes are counted for a row besides its bindings and its key.
const sortedBytes = 128

// keep copies the bytes of the row and its key. If rows may leave a heap one by one, each must
// have its own memory.
func (o *OrderBy) keep(one *sorted) {
	own := func(b []byte) string { return o.arena.Copy(b) }
	if o.Top > 0 {
		own = func(b []byte) string { return string(b) }
	}
	one.Key = own(solution.BytesOf(one.Key))
	one.Row = slices.Clone(one.Row)
	for i, cell := range one.Row {
		if cell != "" {
			one.Row[i] = own(solution.BytesOf(cell))
		}
	}
}

// sortsBehind reports whether a row whose key begins with first sorts behind the rows of the full heap.
func (o *OrderBy) sortsBehind(first []byte) bool {
	last := solution.BytesOf(o.rows[0].Key)
	return bytes.Compare(first, last[:min(len(first), len(last))]) > 0
}

// passed reports whether all rows after this one sort behind the rows of the full heap.
//
// Keys have the order of ORDER BY except terms of [expr.UnorderedTag] and long terms. Long terms stand at
// the place of their beginnings, in any order. If a term has an exact sort key, it is shorter
// than such a beginning, so its place among them is right.
func (o *OrderBy) passed(one *sorted, row []string) bool {
	if o.InSequence < 0 || one.first == 0 {
		return false
	}
	if binding := row[o.InSequence]; binding == "" || binding[0] >= expr.UnorderedTag {
		return false
	}
	last := o.rows[0]
	if last.first == 0 {
		return false
	}
	// Of equal rows the first ones count, so a single key ends the input among equal ones already.
	if len(o.Keys) == 1 && one.Key == last.Key {
		return true
	}
	return one.Key[:one.first] > last.Key[:min(one.first, len(last.Key))]
}

// compare compares two rows in the order of the keys, then as they came. When the
// query has ended, all are equal, so a sort ends soon.
func (o *OrderBy) compare(a, b *spill.Record) int {
	if o.count++; o.count%solution.BatchRows == 0 && o.err == nil {
		o.err = o.Exec.Check()
	}
	if o.err != nil {
		return 0
	}
	if a.Key != b.Key {
		return bytes.Compare(solution.BytesOf(a.Key), solution.BytesOf(b.Key))
	}
	if a.B == cut || b.B == cut {
		if c := o.compareValues(a, b); c != 0 {
			return c
		}
	}
	return spill.ByNumber(a, b)
}

func (o *OrderBy) compareValues(a, b *spill.Record) int {
	if o.err = o.Exec.Check(); o.err != nil {
		return 0
	}
	for _, k := range o.Keys {
		left, right := o.sides[0].MoveTo(a.Row, o.Exec.Terms), o.sides[1].MoveTo(b.Row, o.Exec.Terms)
		c := expr.Compare(k.Expr.Eval(o.Env, left), k.Expr.Eval(o.Env, right))
		if k.Descending {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// If Top is not negative, the rows are a heap with the last of the order on top.

func (o *OrderBy) Len() int           { return len(o.rows) }
func (o *OrderBy) Less(i, j int) bool { return o.compare(&o.rows[i].Record, &o.rows[j].Record) > 0 }
func (o *OrderBy) Swap(i, j int)      { o.rows[i], o.rows[j] = o.rows[j], o.rows[i] }
func (o *OrderBy) Push(x any)         { o.rows = append(o.rows, x.(*sorted)) }
func (o *OrderBy) Pop() any           { panic("exec: the heap of ORDER BY only grows") }

func (o *OrderBy) drop() {
	o.rows, o.built, o.at, o.seq, o.stop, o.arena = nil, false, 0, 0, false, solution.Arena{}
	o.runs.Close()
	o.runs = nil
	o.Free()
}

func (o *OrderBy) Reset()                 { o.drop(); o.Input.Reset() }
func (o *OrderBy) Close()                 { o.drop(); o.Input.Close() }
func (o *OrderBy) Sharer() *memory.Holder { return &o.Holder }
