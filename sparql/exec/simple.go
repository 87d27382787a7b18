package exec

import (
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// rowView shows a row to expressions. It remembers the terms that it decoded
// last, one for each slot.
type rowView struct {
	row   []string
	cache []cached
}

type cached struct {
	binding string
	value   expr.Value
}

func (v *rowView) of(row []string) *rowView {
	if len(v.cache) < len(row) {
		v.cache = make([]cached, len(row))
	}
	v.row = row
	return v
}

// Value returns the value in a slot.
func (v *rowView) Value(slot int) expr.Value {
	binding := v.row[slot]
	if binding == "" {
		return expr.Value{}
	}
	c := &v.cache[slot]
	if c.binding != binding {
		t, err := triple.DecodeTerm(bytesOf(binding))
		if err != nil {
			return expr.Value{}
		}
		c.binding, c.value = binding, expr.FromTerm(t).Parsed()
	}
	return c.value
}

// Bound reports whether a slot is bound.
func (v *rowView) Bound(slot int) bool { return v.row[slot] != "" }

// test reports whether all conditions hold.
func test(env *expr.Env, conds []*expr.Expr, row *rowView) (bool, error) {
	env.NextSolution()
	for _, cond := range conds {
		ok := cond.Test(env, row)
		if err := env.Err(); err != nil {
			return false, err
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// filter passes the rows for which all conditions hold.
type filter struct {
	q     *query
	in    operator
	conds []*expr.Expr
	env   *expr.Env
	view  rowView
}

func (f *filter) next(out *batch) error {
	for {
		if err := f.q.check(); err != nil {
			return err
		}
		if err := f.in.next(out); err != nil || out.n == 0 {
			return err
		}
		n := 0
		for i := range out.n {
			if err := f.q.tick(); err != nil {
				return err
			}
			row := out.row(i)
			ok, err := test(f.env, f.conds, f.view.of(row))
			if err != nil {
				return err
			}
			if ok {
				if n < i {
					copy(out.row(n), row)
					out.ord[n] = out.ord[i]
				}
				n++
			}
		}
		if out.truncate(n); n > 0 {
			return nil
		}
	}
}

func (f *filter) reset() { f.in.reset() }
func (f *filter) close() { f.in.close() }

// extend binds variables to the values of expressions, one after the other.
type extend struct {
	q     *query
	in    operator
	slots []int
	exprs []*expr.Expr
	env   *expr.Env
	view  rowView
	buf   []byte
	rest  *batch // rows that had no room in a batch, as values are large
	at    int
	large holder // of the large values that the last batch was given
}

func (e *extend) next(out *batch) error {
	e.large.free()
	if e.rest == nil || e.at >= e.rest.n {
		if err := e.q.check(); err != nil {
			return err
		}
		if err := e.in.next(out); err != nil {
			return err
		}
		for i := range out.n {
			if err := e.bind(out, i); err != nil {
				return err
			}
			if out.weight >= maxWeight && i+1 < out.n {
				e.put(out, i+1)
				break
			}
		}
		return nil
	}
	for ; e.at < e.rest.n && !out.full(); e.at++ {
		out.add(e.rest.row(e.at), e.rest.ord[e.at])
		if err := e.bind(out, out.n-1); err != nil {
			return err
		}
	}
	return nil
}

// put moves the rows of a batch from one on aside.
func (e *extend) put(out *batch, from int) {
	if e.rest == nil {
		e.rest = newBatch(out.width)
	}
	e.rest.clear()
	e.at = 0
	for i := from; i < out.n; i++ {
		e.rest.add(out.row(i), out.ord[i])
	}
	out.truncate(from)
}

// bind evaluates the expressions for a row.
func (e *extend) bind(out *batch, i int) error {
	if err := e.q.tick(); err != nil {
		return err
	}
	row := out.row(i)
	e.env.NextSolution()
	for k, slot := range e.slots {
		v := e.exprs[k].Eval(e.env, e.view.of(row))
		if err := e.env.Err(); err != nil {
			return err
		}
		row[slot] = ""
		if v.IsBound() {
			e.buf = triple.AppendWholeTerm(e.buf[:0], v.Term())
			row[slot] = e.q.arena.keep(e.buf)
			out.weigh(row[slot])
			if err := e.hold(len(row[slot])); err != nil {
				return err
			}
			if cap(e.buf) > maxWeight {
				e.buf = nil // of one huge value
			}
		}
	}
	return nil
}

// hold counts a value of so many bytes. Only one that is huge is asked for: a batch has
// few bytes of others.
func (e *extend) hold(bytes int) error {
	switch {
	case bytes < bigCell:
	case bytes < maxWeight/4:
		e.large.take(bytes)
	default:
		return e.large.grow(2 * bytes) // itself, and what it is made of
	}
	return nil
}

func (e *extend) reset() { e.rest, e.at = nil, 0; e.large.free(); e.in.reset() }
func (e *extend) close() { e.large.free(); e.in.close() }

// concat gives the rows of its inputs one after the other.
type concat struct {
	inputs []operator
	at     int
}

func (c *concat) next(out *batch) error {
	for ; c.at < len(c.inputs); c.at++ {
		if err := c.inputs[c.at].next(out); err != nil || out.n > 0 {
			return err
		}
	}
	return nil
}

func (c *concat) reset() {
	c.at = 0
	for _, in := range c.inputs {
		in.reset()
	}
}

func (c *concat) close() {
	for _, in := range c.inputs {
		in.close()
	}
}

// lateralUnion runs its branches over each batch of its input.
type lateralUnion struct {
	q        *query
	in       operator
	feed     *feed
	branches *concat
	input    *batch
	running  bool
}

func (u *lateralUnion) next(out *batch) error {
	for {
		if err := u.q.check(); err != nil {
			return err
		}
		if !u.running {
			u.input.clear()
			if err := u.in.next(u.input); err != nil || u.input.n == 0 {
				return err
			}
			u.feed.rows = u.input
			u.branches.reset()
			u.running = true
		}
		if err := u.branches.next(out); err != nil {
			return err
		}
		if out.n > 0 {
			for i, ord := range out.ord {
				out.ord[i] = u.input.ord[ord]
			}
			return nil
		}
		u.running = false
	}
}

func (u *lateralUnion) reset() { u.running = false; u.in.reset() }
func (u *lateralUnion) close() { u.in.close(); u.branches.close() }

// values joins its input with rows that the query holds.
type values struct {
	q     *query
	in    operator
	slots []int
	rows  [][]string // as long as slots
	holder
	input *batch
	at    int
	try   int // the row to try next with the input's row at
}

func (v *values) next(out *batch) error {
	if err := v.hold(); err != nil {
		return err
	}
	for tries := 0; ; {
		if v.at >= v.input.n {
			if out.n > 0 {
				return nil
			}
			v.input.clear()
			v.at, v.try = 0, 0
			if err := v.in.next(v.input); err != nil || v.input.n == 0 {
				return err
			}
		}
		for ; v.try < len(v.rows); v.try++ {
			if out.full() {
				return nil
			}
			if tries++; tries%batchRows == 0 {
				if err := v.q.check(); err != nil {
					return err
				}
			}
			v.join(out, v.rows[v.try])
		}
		v.at++
		v.try = 0
	}
}

// hold counts the rows, once.
func (v *values) hold() error {
	if v.account != nil {
		return nil
	}
	v.account, v.name = &v.q.account, "values"
	bytes := 0
	for _, row := range v.rows {
		bytes += 24
		for _, cell := range row {
			bytes += 16 + len(cell)
		}
	}
	return v.grow(bytes)
}

func (v *values) join(out *batch, cells []string) {
	row := v.input.row(v.at)
	for i, slot := range v.slots {
		if cells[i] != "" && row[slot] != "" && cells[i] != row[slot] {
			return
		}
	}
	next := out.add(row, v.input.ord[v.at])
	for i, slot := range v.slots {
		if cells[i] != "" {
			next[slot] = cells[i]
		}
	}
}

func (v *values) reset() { v.input.clear(); v.at, v.try = 0, 0; v.in.reset() }
func (v *values) close() { v.in.close() }

// project unbinds all variables but some.
type project struct {
	in   operator
	keep []bool
}

func (p *project) next(out *batch) error {
	if err := p.in.next(out); err != nil {
		return err
	}
	for i := range out.n {
		row := out.row(i)
		for slot, keep := range p.keep {
			if !keep {
				row[slot] = ""
			}
		}
	}
	return nil
}

func (p *project) reset() { p.in.reset() }
func (p *project) close() { p.in.close() }

// slice passes a part of the rows, and asks for no more.
type slice struct {
	in            operator
	offset, limit int64
	seen, given   int64
}

func (s *slice) next(out *batch) error {
	for s.limit == ast.NoLimit || s.given < s.limit {
		if err := s.in.next(out); err != nil || out.n == 0 {
			return err
		}
		skip := int(min(s.offset-s.seen, int64(out.n)))
		s.seen += int64(skip)
		take := out.n - skip
		if s.limit != ast.NoLimit {
			take = int(min(int64(take), s.limit-s.given))
		}
		if skip > 0 {
			copy(out.cells, out.cells[skip*out.width:])
			copy(out.ord, out.ord[skip:])
		}
		out.truncate(take)
		s.given += int64(take)
		if take > 0 {
			return nil
		}
		out.clear()
	}
	return nil
}

func (s *slice) reset() { s.seen, s.given = 0, 0; s.in.reset() }
func (s *slice) close() { s.in.close() }
