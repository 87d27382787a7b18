// Counts over the rows of a join over columns, or the pairs of a path, without the rows.

package build

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/columnjoin"
	"github.com/trefoildb/trefoil/sparql/exec/path"
)

// CountJoin counts the rows of a join over columns, or the pairs of a path; ok is false if in is something
// else, or n counts anything but its rows: all, or those that bind the variable of an OPTIONAL.
func (q *Query) CountJoin(n *algebra.Tally, in Stream) (out Stream, ok bool) {
	if n.Kind == algebra.TallyTerms {
		return Stream{}, false
	}
	out.Rows = 1
	for _, slot := range n.Counts {
		out.Bind(slot)
	}
	// 1. Pairs bind both of their variables.
	if in.pairs != nil && n.Kind == algebra.TallyRows {
		return q.Traced(out, &path.CountPairs{Closure: in.pairs, Slots: n.Counts}, "count", nil, in.Plan), true
	}
	// 2. A join may have groups by a variable.
	join, below := in.join, in.Plan
	if in.taken != nil {
		join, below = in.taken.join, in.taken.plan
	}
	if join == nil {
		return Stream{}, false
	}
	op := &columnjoin.CountJoin{Key: -1, Holder: q.Exec.Account.NewHolder("count")}
	if n.Kind == algebra.TallyEach {
		if !in.Numbers.Has(n.Slot) || !join.Binds(n.Slot) || !q.heldGroups(len(n.Counts)) {
			return Stream{}, false
		}
		op.Key = n.Slot
		out.Rows = max(1, in.Rows/4)
		out.Bind(n.Slot)
		out.Numbers = algebra.SetOf(n.Slot)
	}
	// 3. It may leave variables of OPTIONAL unbound.
	for i, slot := range n.Counts {
		one := columnjoin.JoinCount{Slot: slot, Optional: -1}
		if n.Of[i] >= 0 {
			if one.Optional = join.OptionalStep(n.Of[i]); one.Optional < 0 {
				return Stream{}, false // rows of the input may leave it unbound
			}
		}
		op.Counts = append(op.Counts, one)
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
