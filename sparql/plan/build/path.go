// Property paths become operators.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
)

// Path joins in with the pairs of nodes that a path links.
func (c *Part) Path(n *algebra.Path, in Stream) (Stream, error) {
	g := c.At.Graphs
	if negated, ok := n.Path.(*ast.PathNegated); ok {
		// 1. A negated set is one pattern with excluded predicates.
		pat := cost.NewPattern(n.Subject, algebra.VarOrTerm{Slot: -1}, n.Object, g, c.At.Ranges)
		pat.Excluded = map[string]bool{}
		for _, member := range negated.Set {
			pat.Excluded[solution.KeyOfIRI(member.IRI)] = true
		}
		list := []cost.Candidate{{Pat: pat, Text: func() string { return "!" + ast.PathString(n.Path) }}}
		in = c.Terms(in, in.Numbers)
		steps, sorted, err := c.Orders.Find(c.Estimator, list, c.input(in), c.Want)
		if err != nil {
			return in, err
		}
		in.Sorted = in.Sorted || sorted
		return c.look(&list[0], in, steps[0].Rows), nil
	}
	if out, ok := c.closure(n, in); ok {
		return out, nil
	}
	// 2. A repeated path is searched.
	p := &path.Join{
		Exec: c.Exec, Input: in.Op, Subject: cost.PlaceOf(n.Subject, true), Object: cost.PlaceOf(n.Object, true),
		Repeat: n.Path.(*ast.PathRepeat), Empty: path.Empty(n.Path), Chunk: exec.FirstChunkRows, Graphs: g, Batch: c.Exec.NewBatch(), Numbers: map[int]bool{}, Unread: map[int]bool{},
		Holder: c.Exec.Account.NewHolder("path"),
	}
	in.Rows *= 10
	view, name := c.Columns, path.RowsName
	if p.Walk.Cells = c.pathCells(n, in); p.Walk.Cells != nil {
		name = path.CellsName
	}
	if g.Mode != pattern.DefaultGraph || p.Walk.Cells != nil {
		view = nil
		in = c.Terms(in, in.Numbers)
		p.Input = in.Op
	}
	for _, at := range []algebra.VarOrTerm{n.Subject, n.Object} {
		if !at.IsVar() {
			continue
		}
		// A variable that some rows of the input bind to terms stays one of terms.
		if view != nil && !in.Possible.Has(at.Slot) {
			in.Numbers = in.Numbers.With(at.Slot)
		}
		p.Numbers[at.Slot] = in.Numbers.Has(at.Slot)
		p.Unread[at.Slot] = c.At.projected && c.Variables.Mentions()[at.Slot] == 1
	}
	for slot := range p.Numbers {
		in.Bind(slot)
	}
	out := c.Traced(in, p, name, func() string { return ast.PathString(n.Path) }, in.Plan)
	p.Plan = out.Plan
	p.Walk = path.Walker{Exec: c.Exec, Graphs: &p.Graphs, Columns: view, Cells: p.Walk.Cells, Plan: p.Plan, Holder: &p.Holder}
	return out, nil
}

// pathCells returns the cells of hyperlinks for a path over their predicate; nil if rows or a column are
// read. A column is faster than cells. Cells are several times as fast as rows, but only from a bound end.
// path joins in with the pairs of nodes that a path links.
func (c *Part) pathCells(n *algebra.Path, in Stream) *path.Cells {
	g := c.At.Graphs
	// 1. The path must be of links, in a graph that the cells have.
	o := &c.Exec.Options
	if o.LinkEdges == nil || c.Changed(o.LinkPredicate) || g.Mode != pattern.DefaultGraph && g.Mode != pattern.AnyGraph || !path.IsOverPredicate(n.Path, o.LinkPredicate) {
		return nil
	}
	if !cost.IsBound(n.Subject, in.Certain) && !cost.IsBound(n.Object, in.Certain) {
		return nil
	}
	if c.Columns != nil && g.Mode == pattern.DefaultGraph {
		if col, ok := c.Columns.Column(solution.KeyOfIRI(o.LinkPredicate)); ok && !col.LongSubjects && !col.LongObjects {
			return nil
		}
	}
	// 2. The cells must be those of the source.
	graph, err := o.LinkEdges(c.Exec.Ctx)
	if err != nil {
		return nil
	}
	return &path.Cells{Graph: graph}
}

// closure returns the pairs of a repeated path between two variables, if nothing is known of both; ok is
// false if rows must be read, or an edge is not a pattern.
func (c *Part) closure(n *algebra.Path, in Stream) (out Stream, ok bool) {
	// 1. Columns must have all edges. If none is needed, they must have all nodes.
	repeat, ok := n.Path.(*ast.PathRepeat)
	if !ok || !in.Start || c.At.Lateral() || c.Columns == nil || c.At.Graphs.Mode != pattern.DefaultGraph || repeat.Min == 0 && !c.Columns.Complete() {
		return in, false
	}
	if !n.Subject.IsVar() || !n.Object.IsVar() || n.Subject.Slot == n.Object.Slot {
		return in, false
	}
	lists := path.ClosureLists(c.Columns, repeat.Arg)
	if lists == nil {
		return in, false
	}
	// 2. Make the operator.
	p := &path.Closure{
		Exec: c.Exec, Lists: lists, Empty: repeat.Min == 0, Once: repeat.Once,
		From: n.Subject.Slot, To: n.Object.Slot, Holder: c.Exec.Account.NewHolder("path"),
	}
	out = Stream{Rows: 1, Numbers: algebra.SetOf(p.From, p.To)}
	if p.Empty {
		out.Rows = float64(c.Columns.Dictionary().Len())
	}
	for _, l := range lists {
		out.Rows += 10 * float64(l.Keys())
	}
	out.Bind(p.From)
	out.Bind(p.To)
	out = c.Traced(out, p, "path between all", func() string { return ast.PathString(n.Path) })
	p.Plan, out.pairs = out.Plan, p
	return out, true
}
