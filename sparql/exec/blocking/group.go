// GROUP BY and its aggregates.

package blocking

import (
	"errors"
	"slices"

	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/memory"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/exec/spill"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// Group is GROUP BY with its aggregates.
//
// When the groups do not fit, all of them are written to temporary files, divided by the hash
// of their keys: the states of each group's aggregates. At the end of the input each file is
// read, and the states of one group are merged in the order of their arrival.
type Group struct {
	Exec  *exec.Execution
	Input exec.Operator
	Keys  []GroupKey
	Aggs  []GroupAggregate
	Pass  []int      // slots with the same bindings in every row of the input
	Feed  *exec.Feed // the one row of a lateral run, which has the bindings of Pass; nil without one
	Env   *expr.Env
	memory.Holder

	view   solution.View
	groups map[expr.Digest]int // the places in list, by keys
	list   []*oneGroup
	last   *oneGroup // of the last row
	built  bool
	at     int
	key    []byte
	cells  []string
	arena  solution.Arena

	parts *spill.Partitions // of the current input; nil while its groups fit
	todo  []spill.Part
	level int
}

// GroupKey is a key of GROUP BY.
type GroupKey struct {
	Expr *expr.Expr
	From int // the slot of a variable alone, else negative
	Slot int
}

// GroupAggregate is an aggregate and the slot of its result.
type GroupAggregate struct {
	Agg  *expr.Aggregate
	Slot int
}

type oneGroup struct {
	keys []string
	pass []string
	accs []*expr.Accumulator
}

// groupBytes are counted for a group, and for an accumulator.
const groupBytes = 160

func (g *Group) Next(out *solution.Batch) error {
	// 1. Read all of the input, because any row may belong to the first group.
	if !g.built {
		if err := g.build(); err != nil {
			return err
		}
		g.built = true
	}
	var empty []string
	for !out.Full() {
		// 2. If groups went to files, read the next one.
		if g.at >= len(g.list) {
			if len(g.todo) == 0 {
				return nil
			}
			if err := g.readPart(); err != nil {
				return err
			}
			continue
		}
		if err := g.Exec.Tick(); err != nil {
			return err
		}
		if empty == nil {
			empty = make([]string, g.Exec.Width)
		}
		// 3. Give the group: the common bindings of its rows, its keys, its aggregates.
		one := g.list[g.at]
		g.at++
		row := out.Add(empty, 0)
		for i, slot := range g.Pass {
			row[slot] = one.pass[i]
		}
		for i, key := range g.Keys {
			row[key.Slot] = one.keys[i]
		}
		for i, a := range g.Aggs {
			if v := one.accs[i].Result(); v.IsBound() {
				row[a.Slot] = solution.Encode(v.Term())
				out.AddWeight(row[a.Slot])
			}
		}
	}
	return nil
}

func (g *Group) build() error {
	in := g.Exec.NewBatch()
	defer in.Free()
	g.cells = make([]string, len(g.Keys))
	for {
		in.Clear()
		if err := g.Exec.Check(); err != nil {
			return err
		}
		if err := g.Input.Next(in); err != nil {
			return err
		}
		if in.Len == 0 {
			break
		}
		for i := range in.Len {
			if err := g.add(in.Row(i)); err != nil {
				return err
			}
		}
	}
	if len(g.Keys) == 0 && len(g.list) == 0 {
		g.list = append(g.list, g.empty(g.passOf(nil)))
	}
	return g.descend()
}

// passOf returns the passed bindings of a row of the input, or of the feed's row if the input has none.
func (g *Group) passOf(row []string) []string {
	cells := make([]string, len(g.Pass))
	if row == nil {
		if g.Feed == nil || g.Feed.Rows == nil || g.Feed.Rows.Len == 0 {
			return cells
		}
		row = g.Feed.Rows.Row(0)
	}
	for i, slot := range g.Pass {
		cells[i] = row[slot]
	}
	return cells
}

// empty returns a group of no solutions.
func (g *Group) empty(pass []string) *oneGroup {
	one := &oneGroup{pass: pass}
	for _, a := range g.Aggs {
		one.accs = append(one.accs, a.Agg.New(g.Grow))
	}
	return one
}

// add adds a row of the input.
func (g *Group) add(row []string) error {
	if err := g.Exec.Tick(); err != nil {
		return err
	}
	g.Env.NextSolution()
	view := g.view.MoveTo(row, g.Exec.Terms)
	// 1. Make the key. The binding of a variable alone is taken as it is.
	for i, key := range g.Keys {
		if key.From >= 0 {
			g.cells[i] = row[key.From]
			continue
		}
		v := key.Expr.Eval(g.Env, view)
		if err := g.Env.Err(); err != nil {
			return err
		}
		g.cells[i] = ""
		if v.IsBound() {
			g.cells[i] = string(triple.AppendWholeTerm(nil, v.Term()))
		}
	}
	// 2. Passed bindings are copied only if the group is new.
	pass := func() []string { return g.passOf(row) }
	// 3. Add the row to each aggregate. An error of one value makes the aggregate an error, but
	// must not end the query.
	return g.update(pass, func(i int, acc *expr.Accumulator) error {
		if err := acc.Add(g.Env, view); err != nil {
			return err
		}
		return g.Env.Err()
	})
}

// update calls each for the accumulators of the group of g.cells. If one has no room, update
// writes all groups and goes on with this accumulator in a new group.
func (g *Group) update(pass func() []string, each func(i int, acc *expr.Accumulator) error) error {
	spilled := false
	for from := 0; ; {
		one, err := g.find(pass)
		for i := from; err == nil && i < len(g.Aggs); i++ {
			if err = each(i, one.accs[i]); err == nil {
				from = i + 1
			}
		}
		if err == nil || !errors.Is(err, memory.ErrMemory) || !g.Exec.Spills() || spilled {
			return err
		}
		// If a group needs all of the memory, it would not have room later either.
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
func (g *Group) find(pass func() []string) (*oneGroup, error) {
	// 1. Neighbours are often of one group, and without keys all rows are.
	if g.last != nil && slices.Equal(g.last.keys, g.cells) {
		return g.last, nil
	}
	g.key = g.key[:0]
	for _, cell := range g.cells {
		g.key = append(append(g.key, cell...), 0, 1)
	}
	// 2. Look for an existing group first, because most rows have one.
	digest := expr.DigestOf(g.key)
	if at, ok := g.groups[digest]; ok {
		g.last = g.list[at]
		return g.last, nil
	}
	// 3. Count a new one before it is made.
	cells := pass()
	bytes := len(g.key) + groupBytes*(1+len(g.Aggs))
	for _, cell := range cells {
		bytes += 16 + len(cell)
	}
	if err := g.Grow(bytes); err != nil {
		return nil, err
	}
	// 4. Copy its keys and bindings, because the batch of the row will be used again.
	one := g.empty(cells)
	for i, cell := range cells {
		cells[i] = g.arena.Copy(solution.BytesOf(cell))
	}
	for _, cell := range g.cells {
		one.keys = append(one.keys, g.arena.Copy(solution.BytesOf(cell)))
	}
	if g.groups == nil {
		g.groups = make(map[expr.Digest]int)
	}
	g.groups[digest] = len(g.list)
	g.list = append(g.list, one)
	g.last = one
	return one, nil
}

// A record of a group is its keys, the passed bindings, and the states of its aggregates.

// spill writes all groups to files.
func (g *Group) spill() error {
	if g.parts == nil {
		g.parts = g.Exec.Scratch.NewPartitions(&g.Holder, len(g.Keys)+len(g.Pass)+len(g.Aggs), g.level)
	}
	var r spill.Record
	for i, one := range g.list {
		if i%solution.BatchRows == 0 {
			if err := g.Exec.Check(); err != nil {
				return err
			}
		}
		g.key = g.key[:0]
		for _, cell := range one.keys {
			g.key = append(append(g.key, cell...), 0, 1)
		}
		r.Row = append(append(r.Row[:0], one.keys...), one.pass...)
		for _, acc := range one.accs {
			r.Row = append(r.Row, string(acc.AppendState(nil)))
		}
		if err := g.parts.Add(g.key, r); err != nil {
			return err
		}
	}
	g.clear()
	return nil
}

// descend puts the files of the finished input on the stack, if it did not fit.
func (g *Group) descend() error {
	if g.parts == nil {
		return nil
	}
	if err := g.spill(); err != nil {
		return err
	}
	if err := g.parts.Finish(); err != nil {
		return err
	}
	g.todo = g.parts.PushTo(g.todo)
	g.parts = nil
	return nil
}

// readPart reads the file on top of the stack.
func (g *Group) readPart() error {
	g.clear()
	top := g.todo[len(g.todo)-1]
	g.todo = g.todo[:len(g.todo)-1]
	defer top.File.Close()
	// If groups still do not fit, they must be divided by other bits of the hash. The level
	// chooses these.
	g.level = top.Depth + 1
	in := top.File.NewReader()
	for {
		ok, err := in.Next()
		if err != nil {
			return err
		}
		if !ok {
			return g.descend()
		}
		if err := g.Exec.Tick(); err != nil {
			return err
		}
		// A record is one group's keys, the passed bindings, and the states of its aggregates.
		copy(g.cells, in.Row)
		rest := in.Row[len(g.Keys):]
		pass := func() []string { return append([]string(nil), rest[:len(g.Pass)]...) }
		err = g.update(pass, func(i int, acc *expr.Accumulator) error {
			return acc.Merge(rest[len(g.Pass)+i])
		})
		if err != nil {
			return err
		}
	}
}

func (g *Group) clear() {
	g.groups, g.list, g.last, g.at, g.arena = nil, nil, nil, 0, solution.Arena{}
	g.Free()
}

func (g *Group) drop() {
	g.clear()
	g.parts.Close()
	for _, p := range g.todo {
		p.File.Close()
	}
	g.parts, g.todo, g.level, g.built = nil, nil, 0, false
}

func (g *Group) Reset()                 { g.drop(); g.Input.Reset() }
func (g *Group) Close()                 { g.drop(); g.Input.Close() }
func (g *Group) Sharer() *memory.Holder { return &g.Holder }
