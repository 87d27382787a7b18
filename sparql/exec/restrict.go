package exec

import (
	"bytes"
	"slices"

	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr"
	"github.com/trefoildb/trefoil/triple"
)

// restriction says where the terms of a variable stand that filters may pass.
type restriction struct {
	spans     []span // ascending and disjoint; not nil
	nodesOnly bool   // it does not hold for objects
}

// restrictions returns what conditions say about single variables, added to what
// is known from above. Filters stay: ranges are wider than what they pass.
func restrictions(above map[int]restriction, conds []ast.Expr) map[int]restriction {
	out := above
	copied := false
	byVar := map[int]expr.Restriction{}
	for _, cond := range algebra.SplitConds(conds) {
		r, ok := expr.Restrict(cond)
		if !ok || r.Var == nil || r.Var.Slot < 0 {
			continue
		}
		if old, ok := byVar[r.Var.Slot]; ok {
			r = old.And(r)
		}
		byVar[r.Var.Slot] = r
	}
	for slot, r := range byVar {
		spans, ok := spansOf(r)
		if !ok {
			continue
		}
		if !copied {
			out = make(map[int]restriction, len(above)+1)
			for k, v := range above {
				out[k] = v
			}
			copied = true
		}
		out[slot] = restriction{spans, r.NodesOnly}
	}
	return out
}

// spansOf returns the ranges of keys of a restriction.
func spansOf(r expr.Restriction) ([]span, bool) {
	spans := []span{}
	for _, t := range r.Terms {
		lo, _ := triple.AppendTerm(nil, t)
		spans = append(spans, span{lo, append(bytes.Clone(lo), 0, 2)})
	}
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
		spans = append(spans, span{kr.Range.Lo[1:], kr.Range.Hi[1:]})
	}
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.lo, b.lo) })
	merged := spans[:0]
	for _, s := range spans {
		if n := len(merged); n > 0 && bytes.Compare(s.lo, merged[n-1].hi) <= 0 {
			if bytes.Compare(s.hi, merged[n-1].hi) > 0 {
				merged[n-1].hi = s.hi
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged, true
}
