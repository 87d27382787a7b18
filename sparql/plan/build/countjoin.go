// Counts over the rows of a join over columns, or the pairs of a path, without the rows.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/optimize"
)

// CountJoin counts the rows of a join over columns, or the pairs of a path; ok is false if in is something
// else, or n more than counts of its rows: of all, or of the rows that bind the variable of an OPTIONAL.
func (q *Query) CountJoin(n *algebra.Group, in Stream, at Scope) (out Stream, ok bool) {
	// 1. Pairs bind both of their variables.
	if in.pairs != nil && len(n.Keys) == 0 && optimize.PlainCounts(n.Aggregates, in.Certain) {
		op := &path.CountPairs{Closure: in.pairs}
		out = Stream{Rows: 1}
		for _, a := range n.Aggregates {
			op.Slots = append(op.Slots, a.Slot)
			out.Bind(a.Slot)
		}
		return q.Traced(out, op, "count", nil, in.Plan), true
	}
	// 2. A join may have groups by a variable.
	join, below := in.join, in.Plan
	if in.taken != nil {
		join, below = in.taken.join, in.taken.plan
	}
	if join == nil || at.Lateral() || !optimize.PlainCounts(n.Aggregates, in.Possible) {
		return Stream{}, false
	}
	op := &columnjoin.CountJoin{Key: -1, Holder: q.Exec.Account.NewHolder("count")}
	out = Stream{Rows: 1}
	if len(n.Keys) > 0 {
		v, isVar := n.Keys[0].Expr.(*ast.Var)
		if !isVar || v.Slot != n.Keys[0].Slot || len(n.Keys) > 1 || !in.Numbers.Has(v.Slot) || !join.Binds(v.Slot) || !q.heldGroups(len(n.Aggregates)) {
			return Stream{}, false
		}
		op.Key = v.Slot
		out.Rows = max(1, in.Rows/4)
		out.Bind(v.Slot)
		out.Numbers = algebra.SetOf(v.Slot)
	}
	// 3. It may leave variables of OPTIONAL unbound.
	for _, a := range n.Aggregates {
		one := columnjoin.JoinCount{Slot: a.Slot, Optional: -1}
		if v, isVar := a.Agg.Arg.(*ast.Var); isVar && !in.Certain.Has(v.Slot) {
			one.Optional = join.OptionalStep(v.Slot)
			if one.Optional < 0 {
				return Stream{}, false // rows of the input may leave it unbound
			}
		}
		op.Counts = append(op.Counts, one)
		out.Bind(a.Slot)
	}
	// 4. The parts of a triple term need not be bound.
	if in.taken != nil {
		join = in.taken.tested(q.unfoldText(in.taken.node))
	}
	op.Join = join
	var detail func() string
	if op.Key >= 0 {
		detail = func() string { return "by ?" + q.Body.Scope.Name(op.Key) }
	}
	return q.Traced(out, op, "count", detail, below), true
}

// heldGroups reports whether counts for each term of the columns fit into memory, because those of a join
// cannot go to files.
func (q *Query) heldGroups(counts int) bool {
	return int64(q.Columns.Dictionary().Len())*int64(columnjoin.CountGroupBytes*(1+counts)) <= q.Exec.Account.Limit/4
}
