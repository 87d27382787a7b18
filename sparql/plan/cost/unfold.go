// The ranges of keys of triple terms.

package cost

import (
	"github.com/trefoildb/trefoil/sparql/algebra"
	"github.com/trefoildb/trefoil/sparql/exec/pattern"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// TripleSpans adds the ranges of the triple terms to restrictions: those with the terms of a pattern up to
// its first variable.
func TripleSpans(above map[int]pattern.Restriction, list []*algebra.Unfold) map[int]pattern.Restriction {
	if len(list) == 0 {
		return above
	}
	out := make(map[int]pattern.Restriction, len(above)+len(list))
	for slot, r := range above {
		out[slot] = r
	}
	for _, node := range list {
		span, _ := TripleSpan(node, func(at algebra.VarOrTerm) (string, bool) { return solution.Encode(at.Term), !at.IsVar() })
		out[node.Slot] = pattern.Restriction{Spans: []pattern.Span{span}}
	}
	return out
}

// TripleSpan returns the range of the triple terms with the known terms of a pattern up to the first unknown
// one, and how many those are.
func TripleSpan(node *algebra.Unfold, known func(algebra.VarOrTerm) (encoded string, ok bool)) (span pattern.Span, n int) {
	var whole []byte
	for i, at := range node.Places() {
		term, ok := known(at)
		if !ok {
			break
		}
		if i > 0 {
			whole = append(whole, tripleFieldEnd...)
		}
		whole = append(whole, term...)
		n++
	}
	if n > 0 && n < 3 {
		whole = append(whole, tripleFieldEnd...)
	}
	kr, err := triple.Bounds{Order: triple.OSP, Starts: triple.Starts{Kind: triple.TripleTerm, Text: string(whole)}}.KeyRange()
	if err != nil { // starts of a triple term have a range
		panic(err)
	}
	return pattern.Span{Lo: kr.Range.Lo[1:], Hi: kr.Range.Hi[1:]}, n
}

// tripleFieldEnd separates the parts of an encoded triple term.
var tripleFieldEnd = []byte{0, 3}
