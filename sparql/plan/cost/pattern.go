// Triple patterns with terms in their key form.

package cost

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// PlaceOf returns a place of a pattern; if whole is true, a term has its whole form.
func PlaceOf(v algebra.VarOrTerm, whole bool) pattern.Place {
	if v.IsVar() {
		return pattern.Place{Slot: v.Slot}
	}
	if whole {
		return pattern.Place{Slot: -1, Key: solution.Encode(v.Term)}
	}
	return pattern.Place{Slot: -1, Key: v.Key}
}

// NewPattern returns the pattern of a triple over its active graph. Restrictions are of the
// variables, by their slots.
func NewPattern(s, p, o algebra.VarOrTerm, g pattern.Graphs, restrictions map[int]pattern.Restriction) *pattern.Pattern {
	pat := &pattern.Pattern{Graphs: g, Restrictions: restrictions}
	pat.Places = [4]pattern.Place{PlaceOf(s, false), PlaceOf(p, false), PlaceOf(o, false), {Slot: -1}}
	if g.Mode == pattern.EachGraph {
		pat.Places[triple.Graph].Slot = g.Slot
	}
	return pat
}
