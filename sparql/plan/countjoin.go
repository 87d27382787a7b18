// Counts over the rows of a join over columns, or the pairs of a path, without the rows.

package plan

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/path"
	"github.com/trefoildb/trefoil/sparql/optimize"
)

// countJoin counts the rows of a join over columns, or the pairs of a path; ok is false if in is something
// else, or n more than counts of its rows: of all, or of the rows that bind the variable of an OPTIONAL.
func (q *query) countJoin(n *algebra.Group, in stream, at scope) (out stream, ok bool) {
	// 1. Pairs bind both of their variables.
	if in.pairs != nil && len(n.Keys) == 0 && optimize.PlainCounts(n.Aggregates, in.certain) {
		op := &path.CountPairs{Closure: in.pairs}
		out = stream{rows: 1}
		for _, a := range n.Aggregates {
			op.Slots = append(op.Slots, a.Slot)
			out.bind(a.Slot)
		}
		return q.traced(out, op, "count", nil, in.plan), true
	}
	// 2. A join may have groups by a variable.
	join, below := in.join, in.plan
	if in.taken != nil {
		join, below = in.taken.join, in.taken.plan
	}
	if join == nil || at.lateral() || !optimize.PlainCounts(n.Aggregates, in.possible) {
		return stream{}, false
	}
	op := &exec.CountJoin{Key: -1, Holder: q.exec.Account.NewHolder("count")}
	out = stream{rows: 1}
	if len(n.Keys) > 0 {
		v, isVar := n.Keys[0].Expr.(*ast.Var)
		if !isVar || v.Slot != n.Keys[0].Slot || len(n.Keys) > 1 || !in.numbers.Has(v.Slot) || !join.Binds(v.Slot) || !q.heldGroups(len(n.Aggregates)) {
			return stream{}, false
		}
		op.Key = v.Slot
		out.rows = max(1, in.rows/4)
		out.bind(v.Slot)
		out.numbers = algebra.SetOf(v.Slot)
	}
	// 3. It may leave variables of OPTIONAL unbound.
	for _, a := range n.Aggregates {
		one := exec.JoinCount{Slot: a.Slot, Optional: -1}
		if v, isVar := a.Agg.Arg.(*ast.Var); isVar && !in.certain.Has(v.Slot) {
			one.Optional = join.OptionalStep(v.Slot)
			if one.Optional < 0 {
				return stream{}, false // rows of the input may leave it unbound
			}
		}
		op.Counts = append(op.Counts, one)
		out.bind(a.Slot)
	}
	// 4. The parts of a triple term need not be bound.
	if in.taken != nil {
		join = in.taken.tested(q.unfoldText(in.taken.node))
	}
	op.ColumnJoin = join
	var detail func() string
	if op.Key >= 0 {
		detail = func() string { return "by ?" + q.body.Scope.Name(op.Key) }
	}
	return q.traced(out, op, "count", detail, below), true
}

// heldGroups reports whether counts for each term of the columns fit into memory, because those of a join
// cannot go to files.
func (q *query) heldGroups(counts int) bool {
	return int64(q.columns.Dictionary().Len())*int64(exec.CountGroupBytes*(1+counts)) <= q.exec.Account.Limit/4
}
