// Look-ups and scans of one pattern.

package plan

import (
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// look joins in with one pattern by look-ups.
func (p *part) look(one *candidate, in stream, rows float64) stream {
	pat := one.pat
	name := "index look-up"
	if in.start && !p.at.lateral() {
		name = "index scan"
	}
	l := exec.NewLookup(p.exec, in.op, pat, nil, exec.NewFirstRows(p.want.goal, rows/in.rows))
	detail := one.accessText(in.certain)
	if pat.Order != 0 && in.sorted && p.want.sequence != nil && p.want.sequence.descending {
		l.Reverse = true
		forwards := detail
		detail = func() string { return forwards() + " from the end" }
	}
	out := in
	out.rows = rows
	for _, at := range pat.Places {
		if at.Slot >= 0 {
			out.bind(at.Slot)
		}
	}
	out = p.traced(out, l, name, detail, in.plan)
	l.Plan = out.plan
	return out
}

// accessText returns the detail of the access to a pattern from rows with certain variables bound.
func (one *candidate) accessText(certain algebra.Set) func() string {
	pat, text := one.pat, one.text
	return func() string {
		mask := uint8(0)
		for position, at := range pat.Places {
			if at.Key != "" || at.Slot >= 0 && certain.Has(at.Slot) {
				mask |= 1 << position
			}
		}
		if pat.Graphs.Mode == pattern.OneGraph {
			mask |= 1 << triple.Graph
		}
		a := pat.Access(mask)
		text := a.Order.String() + " " + text()
		if a.Spans != nil {
			text += one.rangeText(a.Order.Positions()[a.Prefix])
		}
		return text
	}
}

// rangeText returns from where the ranges of a position are.
func (one *candidate) rangeText(position int) string {
	if from := one.pat.Restrictions[one.pat.Places[position].Slot].Candidates; from != "" {
		return " by " + from
	}
	return " in a range"
}

// lookNarrow joins in with a pattern by look-ups of the triple terms whose first parts the rows have.
func (b *patternJoin) lookNarrow(one *candidate, in stream, rows float64) stream {
	i := slices.IndexFunc(b.at.unfolds, func(u *unfolding) bool { return u.node.Slot == one.pat.Places[triple.Object].Slot })
	node := b.at.unfolds[i].node
	in = b.terms(in, one.vars.Union(b.at.unfolds[i].inner))
	pat := *one.pat
	pat.Narrow = func(row []string) pattern.Span {
		span, _ := tripleSpan(node, func(at algebra.VarOrTerm) (string, bool) {
			if at.IsVar() {
				return row[at.Slot], row[at.Slot] != ""
			}
			return solution.Encode(at.Term), true
		})
		return span
	}
	narrow := *one
	narrow.pat = &pat
	text := one.text
	narrow.text = func() string { return text() + ", " + b.body.Scope.Unfold(node) + "," }
	return b.look(&narrow, in, rows)
}
