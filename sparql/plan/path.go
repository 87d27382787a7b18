// Property paths become operators.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
)

// path joins in with the pairs of nodes that a path links.
func (c *part) path(n *algebra.Path, in stream) (stream, error) {
	g := c.at.graphs
	if negated, ok := n.Path.(*ast.PathNegated); ok {
		// 1. A negated set is one pattern with excluded predicates.
		pat := newPattern(n.Subject, algebra.VarOrTerm{Slot: -1}, n.Object, g, c.at.ranges)
		pat.Excluded = map[string]bool{}
		for _, member := range negated.Set {
			pat.Excluded[solution.KeyOfIRI(member.IRI)] = true
		}
		list := []candidate{{pat: pat, text: func() string { return "!" + ast.PathString(n.Path) }}}
		if err := c.estimator.estimate(list, 0); err != nil {
			return in, err
		}
		in = c.terms(in, in.numbers)
		b := &patternJoin{part: c, list: list, in: in, search: newSearch(c, list, in)}
		steps, sorted := b.best()
		in.sorted = in.sorted || sorted
		return c.look(&list[0], in, steps[0].rows), nil
	}
	if out, ok := c.closure(n, in); ok {
		return out, nil
	}
	// 2. A repeated path is searched.
	p := &path.Join{
		Exec: c.exec, Input: in.op, Subject: placeOf(n.Subject, true), Object: placeOf(n.Object, true),
		Repeat: n.Path.(*ast.PathRepeat), Empty: path.Empty(n.Path), Chunk: exec.FirstChunkRows, Graphs: g, Batch: c.exec.NewBatch(), Numbers: map[int]bool{}, Unread: map[int]bool{},
		Holder: c.exec.Account.NewHolder("path"),
	}
	in.rows *= 10
	view, name := c.columns, path.RowsName
	if p.Walk.Cells = c.pathCells(n, in); p.Walk.Cells != nil {
		name = path.CellsName
	}
	if g.Mode != pattern.DefaultGraph || p.Walk.Cells != nil {
		view = nil
		in = c.terms(in, in.numbers)
		p.Input = in.op
	}
	for _, at := range []algebra.VarOrTerm{n.Subject, n.Object} {
		if !at.IsVar() {
			continue
		}
		// A variable that some rows of the input bind to terms stays one of terms.
		if view != nil && !in.possible.Has(at.Slot) {
			in.numbers = in.numbers.With(at.Slot)
		}
		p.Numbers[at.Slot] = in.numbers.Has(at.Slot)
		p.Unread[at.Slot] = c.at.projected && c.variables.Mentions()[at.Slot] == 1
	}
	for slot := range p.Numbers {
		in.bind(slot)
	}
	out := c.traced(in, p, name, func() string { return ast.PathString(n.Path) }, in.plan)
	p.Plan = out.plan
	p.Walk = path.Walker{Exec: c.exec, Graphs: &p.Graphs, Columns: view, Cells: p.Walk.Cells, Plan: p.Plan, Holder: &p.Holder}
	return out, nil
}

// pathCells returns the cells of hyperlinks for a path over their predicate; nil if rows or a column are
// read. A column is faster than cells. Cells are several times as fast as rows, but only from a bound end.
// path joins in with the pairs of nodes that a path links.
func (c *part) pathCells(n *algebra.Path, in stream) *path.Cells {
	g := c.at.graphs
	// 1. The path must be of links, in a graph that the cells have.
	o := &c.exec.Options
	if o.LinkEdges == nil || c.changed(o.LinkPredicate) || g.Mode != pattern.DefaultGraph && g.Mode != pattern.AnyGraph || !path.Over(n.Path, o.LinkPredicate) {
		return nil
	}
	if !isBound(n.Subject, in.certain) && !isBound(n.Object, in.certain) {
		return nil
	}
	if c.columns != nil && g.Mode == pattern.DefaultGraph {
		if col, ok := c.columns.Column(solution.KeyOfIRI(o.LinkPredicate)); ok && !col.LongSubjects && !col.LongObjects {
			return nil
		}
	}
	// 2. The cells must be those of the source.
	graph, err := o.LinkEdges(c.exec.Ctx)
	if err != nil {
		return nil
	}
	return &path.Cells{Graph: graph}
}

// closure returns the pairs of a repeated path between two variables, if nothing is known of both; ok is
// false if rows must be read, or an edge is not a pattern.
func (c *part) closure(n *algebra.Path, in stream) (out stream, ok bool) {
	// 1. Columns must have all edges. If none is needed, they must have all nodes.
	repeat, ok := n.Path.(*ast.PathRepeat)
	if !ok || !in.start || c.at.lateral() || c.columns == nil || c.at.graphs.Mode != pattern.DefaultGraph || repeat.Min == 0 && !c.columns.Complete() {
		return in, false
	}
	if !n.Subject.IsVar() || !n.Object.IsVar() || n.Subject.Slot == n.Object.Slot {
		return in, false
	}
	lists := path.ClosureLists(c.columns, repeat.Arg)
	if lists == nil {
		return in, false
	}
	// 2. Make the operator.
	p := &path.Closure{
		Exec: c.exec, Lists: lists, Empty: repeat.Min == 0, Once: repeat.Once,
		From: n.Subject.Slot, To: n.Object.Slot, Holder: c.exec.Account.NewHolder("path"),
	}
	out = stream{rows: 1, numbers: algebra.SetOf(p.From, p.To)}
	if p.Empty {
		out.rows = float64(c.columns.Dictionary().Len())
	}
	for _, l := range lists {
		out.rows += 10 * float64(l.Keys())
	}
	out.bind(p.From)
	out.bind(p.To)
	out = c.traced(out, p, "path between all", func() string { return ast.PathString(n.Path) })
	p.Plan, out.pairs = out.plan, p
	return out, true
}
