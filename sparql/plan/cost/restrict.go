// Ranges of keys from the conditions of filters.

package cost

import (
	"bytes"
	"maps"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// Restrictions returns the restrictions of single variables by conditions, added to those from
// above. The filters must stay, because ranges may be wider.
func Restrictions(above map[int]pattern.Restriction, conds []ast.Expr) map[int]pattern.Restriction {
	out := above
	copied := false
	// 1. Combine the restrictions of each variable, because all conditions must hold.
	byVar := map[int]expr.Restriction{}
	texts := map[int]*expr.Substrings{}
	for _, cond := range algebra.SplitConds(conds) {
		if s, ok := expr.Contains(cond); ok && s.Var.Slot >= 0 {
			if old := texts[s.Var.Slot]; old != nil {
				s = old.And(s)
			}
			texts[s.Var.Slot] = &s
		}
		r, ok := expr.Restrict(cond)
		if !ok || r.Var == nil || r.Var.Slot < 0 {
			continue
		}
		if old, ok := byVar[r.Var.Slot]; ok {
			r = old.And(r)
		}
		byVar[r.Var.Slot] = r
	}
	// 2. Make ranges. The map from above is shared, and must be copied before it changes.
	set := func(slot int, r pattern.Restriction) {
		if !copied {
			out = make(map[int]pattern.Restriction, len(above)+1)
			maps.Copy(out, above)
			copied = true
		}
		out[slot] = r
	}
	for slot, r := range byVar {
		if spans, ok := spansOf(r); ok {
			set(slot, pattern.Restriction{Spans: spans, NodesOnly: r.NodesOnly, Contains: out[slot].Contains})
		}
	}
	for slot, s := range texts {
		r := out[slot]
		r.Contains = s
		set(slot, r)
	}
	return out
}

// spansOf returns the ranges of keys of a restriction.
func spansOf(r expr.Restriction) ([]pattern.Span, bool) {
	spans := []pattern.Span{}
	// 1. A term is the range of keys with it as a prefix.
	for _, t := range r.Terms {
		lo, _ := triple.AppendTerm(nil, t)
		spans = append(spans, TermSpan(lo))
	}
	// 2. A range of values may have no range of keys.
	for _, one := range r.Ranges {
		kr, err := one.Bounds(triple.SPO, nil).KeyRange()
		if err != nil {
			return nil, false
		}
		if kr.Range.Empty() {
			continue
		}
		if len(kr.Range.Lo) < 2 || len(kr.Range.Hi) < 2 {
			return nil, false
		}
		spans = append(spans, pattern.Span{Lo: kr.Range.Lo[1:], Hi: kr.Range.Hi[1:]})
	}
	// 3. Ranges of look-ups must ascend and not overlap.
	slices.SortFunc(spans, func(a, b pattern.Span) int { return bytes.Compare(a.Lo, b.Lo) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && bytes.Compare(s.Lo, merged[n-1].Hi) <= 0 {
			if bytes.Compare(s.Hi, merged[n-1].Hi) > 0 {
				merged[n-1].Hi = s.Hi
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged, true
}

// TermSpan returns the range of one term in its key form.
func TermSpan(term []byte) pattern.Span {
	return pattern.Span{Lo: term, Hi: append(bytes.Clone(term), 0, 2)}
}
