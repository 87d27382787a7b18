// Functions on triple terms, and the comparison of triple terms.

package expr

import (
	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/triple"
)

// Triple terms may be nested to any depth in their objects, so each function here is a loop over
// the levels.

// makeTriple is TRIPLE. It fails if the terms make no triple of RDF.
func makeTriple(_ *Env, args []Value) Value {
	s, p, o := args[0], args[1], args[2]
	if s.kind != IRI && s.kind != Blank || p.kind != IRI {
		return errTriple
	}
	object := o.Term()
	if bytes := len(s.term.Value()) + len(p.term.Value()) + len(object.Value()); bytes > triple.MaxTermBytes {
		return errLength
	}
	if err := triple.CheckNesting(object.Levels(triple.MaxNesting()) + 1); err != nil {
		return limitValue(err.Error())
	}
	t := triple.NewTripleTerm(s.term, p.term, object)
	if len(t.Value()) > triple.MaxTermBytes {
		return errLength
	}
	return Value{kind: TripleTerm, term: t}
}

var errTriple = errorValue("the terms make no triple: its subject must be an IRI or a blank node, its predicate an IRI")

// partOf makes SUBJECT, PREDICATE or OBJECT.
func partOf(position int) function {
	return func(_ *Env, args []Value) Value {
		inner, ok := args[0].term.Triple()
		if !ok {
			return errType
		}
		return FromTerm([...]triple.Term{inner.Subject, inner.Predicate, inner.Object}[position])
	}
}

// compareTriples compares two triple terms part by part with the operator =.
func compareTriples(a, b triple.Term) comparison {
	for {
		x, okX := a.Triple()
		y, okY := b.Triple()
		switch {
		case !okX || !okY:
			return unknown
		case x.Subject != y.Subject || x.Predicate != y.Predicate:
			return unequal
		case x.Object.Kind() == triple.TripleTerm && y.Object.Kind() == triple.TripleTerm:
			a, b = x.Object, y.Object
			continue
		}
		v, w := FromTerm(x.Object), FromTerm(y.Object)
		switch c := compareValues(&v, &w); c {
		case equal, same:
			return same
		case unknown:
			return unknown
		}
		return unequal
	}
}

// innermost returns the innermost object of a triple term, and the bytes of the term before it.
func innermost(t triple.Term) (object triple.Term, before string) {
	whole := t.Value()
	for t.Kind() == triple.TripleTerm {
		inner, ok := t.Triple()
		if !ok {
			break
		}
		t = inner.Object
	}
	return t, whole[:max(0, len(whole)-len(triple.AppendWholeTerm(nil, t)))]
}

// appendTripleKey is AppendEqualityKey for a triple term.
func appendTripleKey(dst []byte, t triple.Term) ([]byte, Keyed) {
	object, before := innermost(t)
	key, keyed := FromTerm(object).AppendEqualityKey([]byte(before))
	return appendHash(dst, string(key)), keyed
}

// appendTripleOrder appends the sort bytes of a triple term: those of its subjects and predicates, then
// those of its innermost object.
func appendTripleOrder(dst []byte, t triple.Term) []byte {
	object, before := innermost(t)
	dst = append(append(dst, tripleTag), before...)
	return appendOrdered(dst, FromTerm(object).Parsed())
}

var tripleTag = func() byte {
	x := triple.NewIRI("x:")
	return triple.AppendWholeTerm(nil, triple.NewTripleTerm(x, x, x))[0]
}()

// AppendSameKey appends a key of 8 bytes. If sameTerm of two values is true, their keys are equal. Other
// values may have the same key, too. No value is the same as an unbound one or an error.
func (v Value) AppendSameKey(dst []byte) ([]byte, Keyed) {
	t := v.Term()
	if t.IsZero() {
		return dst, NoneEqual
	}
	start := len(dst)
	dst = triple.AppendWholeTerm(dst, t)
	return appendSum(dst[:start], xxhash.Sum64(dst[start:])), KeyEqual
}
