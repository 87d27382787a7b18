package exec

import (
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// group is GROUP BY with its aggregates.
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
	arena  arena
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

func (g *group) next(out *batch) error {
	if !g.built {
		if err := g.build(); err != nil {
			return err
		}
		g.built = true
	}
	empty := make([]string, g.q.width)
	for ; g.at < len(g.list) && !out.full(); g.at++ {
		one := g.list[g.at]
		row := out.add(empty, 0)
		for i, slot := range g.pass {
			if i < len(one.pass) {
				row[slot] = one.pass[i]
			}
		}
		for i, key := range g.keys {
			row[key.slot] = one.keys[i]
		}
		for i, a := range g.aggs {
			if v := one.accs[i].Result(); v.IsBound() {
				row[a.slot] = encode(v.Term())
			}
		}
	}
	return nil
}

func (g *group) build() error {
	g.groups = make(map[string]int)
	in := newBatch(g.q.width)
	cells := make([]string, len(g.keys))
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
			if err := g.add(in.row(i), cells); err != nil {
				return err
			}
		}
	}
	if len(g.keys) == 0 && len(g.list) == 0 {
		g.list = append(g.list, g.newGroup(nil))
	}
	return nil
}

func (g *group) newGroup(row []string) *oneGroup {
	one := &oneGroup{}
	if row != nil {
		for _, slot := range g.pass {
			one.pass = append(one.pass, row[slot])
		}
	}
	for _, a := range g.aggs {
		one.accs = append(one.accs, a.agg.New(g.grow))
	}
	return one
}

const groupBytes = 160 // of a group, and of an accumulator

func (g *group) add(row, cells []string) error {
	g.env.NextSolution()
	view := g.view.of(row)
	g.key = g.key[:0]
	for i, key := range g.keys {
		if key.from >= 0 {
			cells[i] = row[key.from]
		} else {
			v := key.expr.Eval(g.env, view)
			if err := g.env.Err(); err != nil {
				return err
			}
			cells[i] = ""
			if v.IsBound() {
				cells[i] = string(triple.AppendWholeTerm(nil, v.Term()))
			}
		}
		g.key = append(append(g.key, cells[i]...), 0, 1)
	}
	at, ok := g.groups[string(g.key)]
	if !ok {
		if err := g.grow(2*len(g.key) + groupBytes*(1+len(g.aggs))); err != nil {
			return err
		}
		one := g.newGroup(row)
		for _, cell := range cells {
			if cell != "" {
				cell = g.arena.keep(bytesOf(cell))
			}
			one.keys = append(one.keys, cell)
		}
		at = len(g.list)
		g.groups[string(g.key)] = at
		g.list = append(g.list, one)
	}
	for _, acc := range g.list[at].accs {
		if err := acc.Add(g.env, view); err != nil {
			return err
		}
		if err := g.env.Err(); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) drop() {
	g.groups, g.list, g.built, g.at, g.arena = nil, nil, false, 0, arena{}
	g.free()
}

func (g *group) reset() { g.drop(); g.in.reset() }
func (g *group) close() { g.drop(); g.in.close() }
