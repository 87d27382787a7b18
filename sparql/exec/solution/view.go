// A row as expressions see it, with its terms decoded when needed.

package solution

import (
	"cmp"

	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// View shows a row to expressions. It keeps the last decoded terms, one for each slot, or for
// some slots together if there are very many.
type View struct {
	Row   []string
	terms *Terms
	cache []cached
}

// maxCached bounds the terms kept by a View, because only the length of a query's text bounds
// its variables and its expressions, each with a view.
const maxCached = 64

// SmallValues is how many bytes of small values are counted at a time, and how many
// bytes of values operators keep between batches.
const SmallValues = 64 << 10

type cached struct {
	binding string
	value   expr.Value
}

// MoveTo moves the view to a row, and returns it. Numbers in the row are of terms.
func (v *View) MoveTo(row []string, terms *Terms) *View {
	v.Row, v.terms = row, terms
	return v
}

// Forget drops the terms of rows with weight bytes of large ones, because an operator may be at
// its end, and there may be many operators.
func (v *View) Forget(weight int) {
	if weight > SmallValues {
		clear(v.cache)
	}
}

// Value returns the value in a slot.
func (v *View) Value(slot int) expr.Value {
	binding := v.Row[slot]
	if binding == "" {
		return expr.Value{}
	}
	if number, ok := Number(binding); ok {
		return v.terms.value(number)
	}
	// Many rows have numbers only, so the cache is made for the first term.
	if n := min(len(v.Row), maxCached); len(v.cache) < n {
		v.cache = make([]cached, n)
	}
	c := &v.cache[slot%len(v.cache)]
	if c.binding != binding {
		t, err := triple.DecodeTerm(BytesOf(binding))
		if err != nil {
			return expr.Value{}
		}
		c.binding, c.value = binding, expr.FromTerm(t).Parsed()
	}
	return c.value
}

// CompareSlots implements [expr.Comparer] for numbers.
func (v *View) CompareSlots(a, b int) (order int, ordered, ok bool) {
	x, okX := Number(v.Row[a])
	y, okY := Number(v.Row[b])
	switch {
	case !okX || !okY:
		return 0, false, false
	case v.terms.IsString(x) && v.terms.IsString(y):
		return cmp.Compare(x, y), true, true
	case v.terms.IsNode(x) && v.terms.IsNode(y):
		return cmp.Compare(x, y), false, true
	}
	return 0, false, false
}

// Bound reports whether a slot is bound.
func (v *View) Bound(slot int) bool { return v.Row[slot] != "" }
