// What EXPLAIN shows of a pattern.

package cost

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/triple"
)

// AccessText returns the detail of the access to a pattern from rows with certain variables bound.
func (one *Candidate) AccessText(certain algebra.Set) func() string {
	pat, text := one.Pat, one.Text
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
func (one *Candidate) rangeText(position int) string {
	if from := one.Pat.Restrictions[one.Pat.Places[position].Slot].Candidates; from != "" {
		return " by " + from
	}
	return " in a range"
}

// ColumnText returns the detail of a pattern that is read from its column.
func (one *Candidate) ColumnText() func() string {
	at := one.Pat.Places[triple.Object]
	if at.Slot < 0 || one.Pat.Restrictions[at.Slot].Candidates == "" {
		return one.Text
	}
	return func() string { return one.Text() + one.rangeText(triple.Object) }
}
