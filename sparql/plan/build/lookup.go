// Look-ups and scans of one pattern.

package build

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/scan"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/sparql/plan/cost"
	"github.com/trefoildb/trefoil/sparql/plan/order"
	"github.com/trefoildb/trefoil/triple"
)

// look joins in with one pattern by look-ups.
func (p *Part) look(one *cost.Candidate, in Stream, rows float64) Stream {
	pat := one.Pat
	name := "index look-up"
	if in.Start && !p.At.Lateral() {
		name = "index scan"
	}
	l := scan.NewLookup(p.Exec, in.Op, pat, nil, scan.NewFirstRows(p.Want.Goal, rows/in.Rows))
	detail := one.AccessText(in.Certain)
	if pat.Order != 0 && in.Sorted && p.Want.Sequence != nil && p.Want.Sequence.Descending {
		l.Reverse = true
		forwards := detail
		detail = func() string { return forwards() + " from the end" }
	}
	out := in
	out.Rows = rows
	for _, at := range pat.Places {
		if at.Slot >= 0 {
			out.Bind(at.Slot)
		}
	}
	out = p.Traced(out, l, name, detail, in.Plan)
	l.Plan = out.Plan
	return out
}

// lookNarrow joins in with a pattern by look-ups of the triple terms whose first parts the rows have.
func (b *patternJoin) lookNarrow(one *cost.Candidate, in Stream, rows float64) Stream {
	i := slices.IndexFunc(b.At.Unfolds, func(u *order.Unfolding) bool { return u.Node.Slot == one.Pat.Places[triple.Object].Slot })
	node := b.At.Unfolds[i].Node
	in = b.Terms(in, one.Vars.Union(b.At.Unfolds[i].Inner))
	pat := *one.Pat
	pat.Narrow = func(row []string) pattern.Span {
		span, _ := cost.TripleSpan(node, func(at algebra.VarOrTerm) (string, bool) {
			if at.IsVar() {
				return row[at.Slot], row[at.Slot] != ""
			}
			return solution.Encode(at.Term), true
		})
		return span
	}
	narrow := *one
	narrow.Pat = &pat
	text := one.Text
	narrow.Text = func() string { return text() + ", " + b.Body.Scope.Unfold(node) + "," }
	return b.look(&narrow, in, rows)
}
