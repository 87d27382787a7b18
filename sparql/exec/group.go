package exec

import (
	"errors"

	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// group is GROUP BY with its aggregates.
//
// When the groups do not fit, all of them are written to temporary files, divided
// by the hash of their keys: what the aggregates of each know so far. At the end of
// the input each file is read, and what was written of one group is merged, in the
// order in which it came.
type group struct {
	q    *query
	in   operator
	keys []groupKey
	aggs []groupAggregate
	pass []int // slots that every row of the input has the same bindings in
	env  *expr.Env
	holder

	view   rowView
	groups map[string]int
	list   []*oneGroup
	built  bool
	at     int
	key    []byte
	cells  []string
	arena  arena

	parts *partitions // of what is being read; nil while its groups fit
	todo  []part
	level int
}

type groupKey struct {
	expr *expr.Expr
	from int // the slot of a variable alone, else negative
	slot int
}

type groupAggregate struct {
	agg  *expr.Aggregate
	slot int
}

type oneGroup struct {
	keys []string
	pass []string
	accs []*expr.Accumulator
}

// groupBytes are counted for a group, and for an accumulator.
const groupBytes = 160

func (g *group) next(out *batch) error {
	if !g.built {
		if err := g.build(); err != nil {
			return err
		}
		g.built = true
	}
	var empty []string
	for !out.full() {
		if g.at >= len(g.list) {
			if len(g.todo) == 0 {
				return nil
			}
			if err := g.readPart(); err != nil {
				return err
			}
			continue
		}
		if err := g.q.tick(); err != nil {
			return err
		}
		if empty == nil {
			empty = make([]string, g.q.width)
		}
		one := g.list[g.at]
		g.at++
		row := out.add(empty, 0)
		for i, slot := range g.pass {
			row[slot] = one.pass[i]
		}
		for i, key := range g.keys {
			row[key.slot] = one.keys[i]
		}
		for i, a := range g.aggs {
			if v := one.accs[i].Result(); v.IsBound() {
				row[a.slot] = encode(v.Term())
				out.weigh(row[a.slot])
			}
		}
	}
	return nil
}

func (g *group) build() error {
	in := newBatch(g.q.width)
	g.cells = make([]string, len(g.keys))
	for {
		in.clear()
		if err := g.q.check(); err != nil {
			return err
		}
		if err := g.in.next(in); err != nil {
			return err
		}
		if in.n == 0 {
			break
		}
		for i := range in.n {
			if err := g.add(in.row(i)); err != nil {
				return err
			}
		}
	}
	if len(g.keys) == 0 && len(g.list) == 0 {
		g.list = append(g.list, g.empty(make([]string, len(g.pass))))
	}
	return g.descend()
}

// empty returns a group of no solutions.
func (g *group) empty(pass []string) *oneGroup {
	one := &oneGroup{pass: pass}
	for _, a := range g.aggs {
		one.accs = append(one.accs, a.agg.New(g.grow))
	}
	return one
}

// add adds a row of the input.
func (g *group) add(row []string) error {
	if err := g.q.tick(); err != nil {
		return err
	}
	g.env.NextSolution()
	view := g.view.of(row)
	for i, key := range g.keys {
		if key.from >= 0 {
			g.cells[i] = row[key.from]
			continue
		}
		v := key.expr.Eval(g.env, view)
		if err := g.env.Err(); err != nil {
			return err
		}
		g.cells[i] = ""
		if v.IsBound() {
			g.cells[i] = string(triple.AppendWholeTerm(nil, v.Term()))
		}
	}
	pass := func() []string {
		cells := make([]string, len(g.pass))
		for i, slot := range g.pass {
			cells[i] = row[slot]
		}
		return cells
	}
	return g.update(pass, func(i int, acc *expr.Accumulator) error {
		if err := acc.Add(g.env, view); err != nil {
			return err
		}
		return g.env.Err()
	})
}

// update calls each for the accumulators of the group of g.cells. Where one has no
// room, all groups are written, and it goes on with that one and a new group.
func (g *group) update(pass func() []string, each func(i int, acc *expr.Accumulator) error) error {
	spilled := false
	for from := 0; ; {
		one, err := g.find(pass)
		for i := from; err == nil && i < len(g.aggs); i++ {
			if err = each(i, one.accs[i]); err == nil {
				from = i + 1
			}
		}
		if err == nil || !errors.Is(err, ErrMemory) || !g.q.spills() || spilled {
			return err
		}
		// A group that needs all of the memory would not have room later either.
		if len(g.list) == 0 || len(g.list) == 1 && one != nil || g.level >= maxLevel {
			return err
		}
		if err := g.spill(); err != nil {
			return err
		}
		spilled = true
	}
}

// find returns the group of g.cells.
func (g *group) find(pass func() []string) (*oneGroup, error) {
	g.key = g.key[:0]
	for _, cell := range g.cells {
		g.key = append(append(g.key, cell...), 0, 1)
	}
	if at, ok := g.groups[string(g.key)]; ok {
		return g.list[at], nil
	}
	cells := pass()
	bytes := 2*len(g.key) + groupBytes*(1+len(g.aggs))
	for _, cell := range cells {
		bytes += 16 + len(cell)
	}
	if err := g.grow(bytes); err != nil {
		return nil, err
	}
	one := g.empty(cells)
	for i, cell := range cells {
		cells[i] = g.arena.keep(bytesOf(cell))
	}
	for _, cell := range g.cells {
		one.keys = append(one.keys, g.arena.keep(bytesOf(cell)))
	}
	if g.groups == nil {
		g.groups = make(map[string]int)
	}
	g.groups[string(g.key)] = len(g.list)
	g.list = append(g.list, one)
	return one, nil
}

// A record of a group is its keys, what passes, and the states of its aggregates.

// spill writes all groups to files.
func (g *group) spill() error {
	if g.parts == nil {
		g.parts = g.q.scratch.divide(&g.holder, len(g.keys)+len(g.pass)+len(g.aggs), g.level)
	}
	var r record
	for i, one := range g.list {
		if i%batchRows == 0 {
			if err := g.q.check(); err != nil {
				return err
			}
		}
		g.key = g.key[:0]
		for _, cell := range one.keys {
			g.key = append(append(g.key, cell...), 0, 1)
		}
		r.row = append(append(r.row[:0], one.keys...), one.pass...)
		for _, acc := range one.accs {
			r.row = append(r.row, string(acc.AppendState(nil)))
		}
		if err := g.parts.add(g.key, r); err != nil {
			return err
		}
	}
	g.clear()
	return nil
}

// descend puts the files of what was read on the stack, if it did not fit.
func (g *group) descend() error {
	if g.parts == nil {
		return nil
	}
	if err := g.spill(); err != nil {
		return err
	}
	if err := g.parts.finish(); err != nil {
		return err
	}
	g.todo = g.parts.pushTo(g.todo)
	g.parts = nil
	return nil
}

// readPart reads the file on top of the stack.
func (g *group) readPart() error {
	g.clear()
	top := g.todo[len(g.todo)-1]
	g.todo = g.todo[:len(g.todo)-1]
	defer top.file.close()
	g.level = top.depth + 1
	in := top.file.reader()
	for {
		ok, err := in.next()
		if err != nil {
			return err
		}
		if !ok {
			return g.descend()
		}
		if err := g.q.tick(); err != nil {
			return err
		}
		copy(g.cells, in.row)
		rest := in.row[len(g.keys):]
		pass := func() []string { return append([]string(nil), rest[:len(g.pass)]...) }
		err = g.update(pass, func(i int, acc *expr.Accumulator) error {
			return acc.Merge(rest[len(g.pass)+i])
		})
		if err != nil {
			return err
		}
	}
}

func (g *group) clear() {
	g.groups, g.list, g.at, g.arena = nil, nil, 0, arena{}
	g.free()
}

func (g *group) drop() {
	g.clear()
	g.parts.close()
	for _, p := range g.todo {
		p.file.close()
	}
	g.parts, g.todo, g.level, g.built = nil, nil, 0, false
}

func (g *group) reset()           { g.drop(); g.in.reset() }
func (g *group) close()           { g.drop(); g.in.close() }
func (g *group) spiller() *holder { return &g.holder }
