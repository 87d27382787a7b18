// Bounds: ranges of an order by value.

package triple

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrBadBounds means that bounds contradict each other, or that no order can answer them.
var ErrBadBounds = errors.New("bad bounds")

// Bounds requests a range of one order. Prefix fixes the order's first terms. GE, GT, LE, LT bound
// the next term by value within its class. Starts selects next terms by the beginning of their
// text, and excludes the other four. From and Until are exact places in the order, of one to four
// whole terms each. A zero term or empty slice is no bound.
//
// The classes are: blank nodes; IRIs; numbers of all XSD types; booleans; dateTimes; dates; times;
// strings; language-tagged strings; for each other datatype, its literals; and triple terms, which
// compare by subject, then predicate, then the value of the object. A value bound never
// leaves its class. NaN is outside of every bound on numbers.
type Bounds struct {
	Order          Order
	Prefix         []Term
	GE, GT, LE, LT Term
	Starts         Starts
	From, Until    []Term
}

// Starts selects terms that begin with Text: IRIs, plain strings, or strings of one language if
// Lang is set. Languages and directions must be equal except for case. For triple terms, Text is the
// beginning of the bytes of [Term.Value]; [ParseStarts] makes it. If it ends with a number or a date
// as the object, it stands for all terms of its value. If Kind is [None], it is no bound.
type Starts struct {
	Kind Kind
	Text string
	Lang string
}

// KeyRange is a range of keys that holds all rows of a [Bounds]. If long terms or language tags
// make it wider than requested, Accept must select the rows of the answer.
type KeyRange struct {
	Order Order
	Range Range
	check func(Term) bool // nil if all rows belong to the answer
	at    int             // the position that check tests
}

// KeyRange returns the range of keys for b. The error wraps [ErrBadBounds].
func (b Bounds) KeyRange() (KeyRange, error) {
	// 1. Check the terms of places; there must be at most four, and none may be zero.
	if !b.Order.Valid() {
		return KeyRange{}, fmt.Errorf("%w: no order", ErrBadBounds)
	}
	if len(b.Prefix) > 4 || len(b.From) > 4 || len(b.Until) > 4 {
		return KeyRange{}, fmt.Errorf("%w: an item has at most four terms", ErrBadBounds)
	}
	for _, terms := range [][]Term{b.Prefix, b.From, b.Until} {
		if slices.ContainsFunc(terms, Term.IsZero) {
			return KeyRange{}, fmt.Errorf("%w: an empty term in an item", ErrBadBounds)
		}
	}
	// 2. Start with the range of the prefix, then narrow it by each bound.
	kr := KeyRange{Order: b.Order}
	lo := appendTerms([]byte{byte(b.Order)}, b.Prefix)
	kr.Range = prefixRange(lo, b.Order, len(b.Prefix))
	if err := b.boundNext(&kr); err != nil {
		return KeyRange{}, err
	}
	// 3. From and Until cut the range further.
	if len(b.From) > 0 {
		kr.Range = kr.Range.Intersect(Range{Lo: appendTerms([]byte{byte(b.Order)}, b.From)})
	}
	if len(b.Until) > 0 {
		kr.Range = kr.Range.Intersect(Range{Hi: appendTerms([]byte{byte(b.Order)}, b.Until)})
	}
	return kr, nil
}

// CheckPositions returns an error that wraps [ErrBadBounds] if no triple can be in the range, because
// a term of the prefix, or a bound on the next one, is of a kind that its position never has: a
// literal can only be an object, and a blank node is no predicate.
func (b Bounds) CheckPositions() error {
	if !b.Order.Valid() {
		return fmt.Errorf("%w: no order", ErrBadBounds)
	}
	check := func(at int, kind Kind, what string) error {
		if at > 3 {
			return nil
		}
		position := positions[b.Order][at]
		if (kind == Literal || kind == TripleTerm) && position != Object || kind == Blank && position == Predicate {
			return fmt.Errorf("%w: %s selects nothing: in %s it applies to the %s, which is no %s; fix the terms before it by prefix, or use another order",
				ErrBadBounds, what, b.Order, positionNames[position], kindNames[kind])
		}
		return nil
	}
	for i, t := range b.Prefix {
		if err := check(i, t.Kind(), "prefix "+clip(t.String())); err != nil {
			return err
		}
	}
	for _, t := range []Term{b.GE, b.GT, b.LE, b.LT} {
		if err := check(len(b.Prefix), t.Kind(), "the bound "+clip(t.String())); err != nil {
			return err
		}
	}
	return check(len(b.Prefix), b.Starts.Kind, "starts")
}

var (
	positionNames = [...]string{Subject: "subject", Predicate: "predicate", Object: "object", Graph: "graph"}
	kindNames     = map[Kind]string{Literal: "literal", Blank: "blank node", TripleTerm: "triple term"}
)

func appendTerms(dst []byte, terms []Term) []byte {
	for i, t := range terms {
		if i > 0 {
			dst = append(dst, 0, markTermEnd)
		}
		dst, _ = AppendTerm(dst, t)
	}
	return dst
}

// boundNext narrows kr by the bounds on the term after the prefix.
func (b Bounds) boundNext(kr *KeyRange) error {
	// 1. Each end may have only one bound.
	lower, upper := b.GE, b.LE
	strictLower, strictUpper := false, false
	if !b.GT.IsZero() {
		if !lower.IsZero() {
			return fmt.Errorf("%w: both ge and gt", ErrBadBounds)
		}
		lower, strictLower = b.GT, true
	}
	if !b.LT.IsZero() {
		if !upper.IsZero() {
			return fmt.Errorf("%w: both le and lt", ErrBadBounds)
		}
		upper, strictUpper = b.LT, true
	}
	// 2. Without a bound on the next term nothing is narrowed.
	byValue := !lower.IsZero() || !upper.IsZero()
	if !byValue && b.Starts.Kind == None {
		return nil
	}
	if byValue && b.Starts.Kind != None {
		return fmt.Errorf("%w: starts excludes ge, gt, le and lt", ErrBadBounds)
	}
	if len(b.Prefix) > 3 {
		return fmt.Errorf("%w: the prefix fixes all four terms, none is left to bound", ErrBadBounds)
	}
	// 3. The bounds apply to the bytes after the prefix and its mark.
	base := appendTerms([]byte{byte(b.Order)}, b.Prefix)
	if len(b.Prefix) > 0 {
		base = append(base, 0, markTermEnd)
	}
	kr.at = positions[b.Order][len(b.Prefix)]
	if b.Starts.Kind != None {
		return b.Starts.narrow(kr, base)
	}
	return narrowByValue(kr, base, bound{lower, strictLower}, bound{upper, strictUpper})
}

// bound is one end of a value range; a zero term is no bound.
type bound struct {
	term   Term
	strict bool
}

func narrowByValue(kr *KeyRange, base []byte, lower, upper bound) error {
	// 1. Both ends must be of one class, because a range never leaves its class.
	some := lower.term
	if some.IsZero() {
		some = upper.term
	}
	class := classOf(some)
	if !lower.term.IsZero() && !upper.term.IsZero() && !bytes.Equal(class.lo, classOf(upper.term).lo) {
		return fmt.Errorf("%w: the bounds %s and %s are of different classes", ErrBadBounds, clip(lower.term.String()), clip(upper.term.String()))
	}
	// 2. Long terms of a class may sort before its other terms; a test then selects the right ones.
	lo, hi, tests := class.lo, class.hi, []func(Term) bool(nil)
	if longs := beforeLongs(class.lo); longs != nil {
		lo = longs
		tests = append(tests, func(t Term) bool { return t.datatype == some.datatype })
	}
	// 3. The lower end. NaN is above all numbers, so nothing is left.
	if !lower.term.IsZero() {
		from, after := valueSpan(lower.term)
		switch longs := beforeLongs(from); {
		case isNaN(lower.term):
			lo = hi
		case longs != nil:
			lo = longs
			tests = append(tests, compareTest(lower.term, func(c int) bool { return c > 0 || c == 0 && !lower.strict }))
		case lower.strict:
			lo = after
		default:
			lo = from
		}
	}
	if !upper.term.IsZero() {
		from, after := valueSpan(upper.term)
		switch {
		case isNaN(upper.term):
			hi = lo
		case upper.strict:
			hi = from
		default:
			hi = after
		}
		// Long terms with the same beginning sort before hi, whatever their rest is, so they must
		// be tested.
		if beforeLongs(from) != nil {
			tests = append(tests, compareTest(upper.term, func(c int) bool { return c < 0 || c == 0 && !upper.strict }))
		}
	}
	kr.Range = kr.Range.Intersect(Range{
		Lo: append(bytes.Clone(base), lo...),
		Hi: append(bytes.Clone(base), hi...),
	})
	// All tests must hold for a term.
	if len(tests) > 0 {
		kr.check = func(t Term) bool {
			for _, test := range tests {
				if !test(t) {
					return false
				}
			}
			return true
		}
	}
	return nil
}

// classRange holds the first byte string of a class of terms, and the first one after it.
type classRange struct{ lo, hi []byte }

func classOf(t Term) classRange {
	switch tag := tagOf(t); tag {
	case tagOther:
		lo := append(appendEscaped([]byte{tagOther}, t.datatype), 0, markFieldEnd)
		return classRange{lo, append(lo[:len(lo)-1:len(lo)-1], markFieldEnd+1)}
	case tagNumber:
		return classRange{[]byte{tag}, append([]byte{tag}, nanBytes[:]...)}
	default:
		return classRange{[]byte{tag}, []byte{tag + 1}}
	}
}

// valueSpan returns the first bytes of the written terms with t's value, and the first bytes after
// them. For numbers, booleans and dates these are all terms of the same value, for others t alone.
func valueSpan(t Term) (from, after []byte) {
	if t.kind == TripleTerm {
		from, after, _ = tripleSpan(t)
		return from, after
	}
	if tag, value, ok := appendValueBytes(nil, t); ok {
		from = appendEscapedBytes([]byte{tag}, value)
		return from, prefixSuccessor(from)
	}
	from = AppendWholeTerm(nil, t)
	return from, append(bytes.Clone(from), 0, markTermEnd+1)
}

// prefixSuccessor returns the smallest byte string that is greater than all with the given prefix.
// The prefix is never all FF, because it has a tag.
func prefixSuccessor(prefix []byte) []byte {
	s := bytes.Clone(prefix)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != 0xFF {
			s[i]++
			return s[:i+1]
		}
	}
	return s
}

// beforeLongs returns the start of the long terms that share their first 256 units with a written
// term or value. They sort before all other terms with that beginning, in the order of their
// hashes. It returns nil if written has at most 256 units, because keys then compare like whole
// terms.
func beforeLongs(written []byte) []byte {
	prefix := prefixOf(written)
	if len(prefix) == len(written) {
		return nil
	}
	return append(bytes.Clone(prefix), 0, markHash)
}

// compareTest returns a test of a term against a bound of the same class. It compares values if the
// class has values, else whole written forms.
func compareTest(bound Term, accept func(int) bool) func(Term) bool {
	if _, want, ok := appendValueBytes(nil, bound); ok {
		return func(t Term) bool {
			_, value, ok := appendValueBytes(nil, t)
			return ok && accept(bytes.Compare(value, want))
		}
	}
	want := AppendWholeTerm(nil, bound)
	if bound.kind == TripleTerm {
		// The bytes of a value end themselves, so a term with more bytes has the same value.
		if span, _, byValue := tripleSpan(bound); byValue {
			return func(t Term) bool {
				whole := AppendWholeTerm(nil, t)
				return accept(bytes.Compare(whole[:min(len(whole), len(span))], span))
			}
		}
	}
	return func(t Term) bool { return accept(bytes.Compare(AppendWholeTerm(nil, t), want)) }
}

func isNaN(t Term) bool {
	return t.value == "NaN" && (t.datatype == XSDDouble || t.datatype == XSDFloat)
}

// narrow narrows kr to the terms that begin with s.Text.
func (s Starts) narrow(kr *KeyRange, base []byte) error {
	// 1. The kind and language determine the tag of the terms.
	tag := s.tag()
	if tag == 0 {
		return fmt.Errorf("%w: starts of a %s", ErrBadBounds, s.Kind)
	}
	// 2. The range of all terms with that text at the beginning, including long ones.
	lo := []byte{tag}
	if tag == tagTriple {
		s.Text = tripleStart(s.Text)
		lo = append(lo, s.Text...)
	} else {
		lo = appendEscaped(lo, s.Text)
	}
	hi := prefixSuccessor(lo)
	longs := beforeLongs(lo)
	if longs != nil {
		lo = longs
	}
	kr.Range = kr.Range.Intersect(Range{
		Lo: append(bytes.Clone(base), lo...),
		Hi: append(bytes.Clone(base), hi...),
	})
	// 3. Keys cannot decide languages and long terms, so these need a test.
	if s.Lang != "" || longs != nil {
		kr.check = func(t Term) bool {
			return strings.HasPrefix(t.value, s.Text) && strings.EqualFold(t.lang, s.Lang)
		}
	}
	return nil
}

// tag returns the tag of the terms that s selects; 0 if it has no kind.
func (s Starts) tag() byte {
	switch {
	case s.Kind == Blank:
		return tagBlank
	case s.Kind == IRI:
		return tagIRI
	case s.Kind == Literal && s.Lang == "":
		return tagString
	case s.Kind == Literal:
		return tagLangString
	case s.Kind == TripleTerm:
		return tagTriple
	}
	return 0
}

// Exact reports whether every row in the range belongs to the answer.
func (kr *KeyRange) Exact() bool { return kr.check == nil }

// Accept reports whether a row of the range belongs to the answer. Some ranges have annotation rows
// too; the caller must skip them first. The error wraps [ErrCorrupt].
func (kr *KeyRange) Accept(terms KeyTerms, value []byte) (bool, error) {
	if kr.check == nil {
		return true, nil
	}
	whole, err := WholeTerms(terms, value)
	if err != nil {
		return false, err
	}
	t, err := decodeView(whole[kr.at])
	if err != nil {
		return false, err
	}
	return kr.check(t), nil
}
