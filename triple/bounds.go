package triple

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrBadBounds: bounds that contradict each other or ask what no order answers.
var ErrBadBounds = errors.New("bad bounds")

// Bounds asks for a range of one order. Prefix fixes the order's leading terms;
// GE, GT, LE, LT bound the next term by value within its class; Starts asks for
// next terms that begin with a text, and excludes the other four; From and
// Until are exact places in the order, of one to four whole terms each. A zero
// term or empty slice is no bound.
//
// The classes are: blank nodes; IRIs; numbers of all XSD types; booleans;
// dateTimes; dates; times; strings; language-tagged strings; and, for each
// other datatype, its literals. A value bound never leaves its class. NaN meets
// no bound on numbers.
type Bounds struct {
	Order          Order
	Prefix         []Term
	GE, GT, LE, LT Term
	Starts         Starts
	From, Until    []Term
}

// Starts asks for terms that begin with Text: IRIs, plain strings, or strings of
// exactly one language (compared without case) where Lang is set. Kind [None] is no
// bound.
type Starts struct {
	Kind Kind
	Text string
	Lang string
}

// KeyRange is a range of keys that holds all versions that a [Bounds] asks for.
// Where long terms or language tags make it wider than asked, Accept tells
// which belong to the answer.
type KeyRange struct {
	Order Order
	Range Range
	check func(Term) bool // nil: all belong to it
	at    int             // the position that check tests
}

// KeyRange returns the keys that b asks for. The error wraps [ErrBadBounds].
func (b Bounds) KeyRange() (KeyRange, error) {
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
	kr := KeyRange{Order: b.Order}
	lo := appendTerms([]byte{byte(b.Order)}, b.Prefix)
	kr.Range = prefixRange(lo, b.Order, len(b.Prefix))
	if err := b.boundNext(&kr); err != nil {
		return KeyRange{}, err
	}
	if len(b.From) > 0 {
		kr.Range = kr.Range.Intersect(Range{Lo: appendTerms([]byte{byte(b.Order)}, b.From)})
	}
	if len(b.Until) > 0 {
		kr.Range = kr.Range.Intersect(Range{Hi: appendTerms([]byte{byte(b.Order)}, b.Until)})
	}
	return kr, nil
}

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

// bound is one end of a value range; a zero term is none.
type bound struct {
	term   Term
	strict bool
}

func narrowByValue(kr *KeyRange, base []byte, lower, upper bound) error {
	some := lower.term
	if some.IsZero() {
		some = upper.term
	}
	class := classOf(some)
	if !lower.term.IsZero() && !upper.term.IsZero() && !bytes.Equal(class.lo, classOf(upper.term).lo) {
		return fmt.Errorf("%w: the bounds %s and %s are of different classes", ErrBadBounds, clip(lower.term.String()), clip(upper.term.String()))
	}
	lo, hi, tests := class.lo, class.hi, []func(Term) bool(nil)
	if longs := beforeLongs(class.lo); longs != nil {
		lo = longs
		tests = append(tests, func(t Term) bool { return t.datatype == some.datatype })
	}
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
		// Long terms of the same beginning stand before hi, whatever follows in them.
		if beforeLongs(from) != nil {
			tests = append(tests, compareTest(upper.term, func(c int) bool { return c < 0 || c == 0 && !upper.strict }))
		}
	}
	kr.Range = kr.Range.Intersect(Range{
		Lo: append(bytes.Clone(base), lo...),
		Hi: append(bytes.Clone(base), hi...),
	})
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

// classRange holds the first byte string of a class of terms and the first one
// beyond it.
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

// valueSpan returns the bytes that the written terms of t's value begin with,
// and the first ones beyond: for numbers, booleans and dates all terms of the
// same value, for all others t alone.
func valueSpan(t Term) (from, after []byte) {
	if tag, value, ok := appendValueBytes(nil, t); ok {
		from = appendEscapedBytes([]byte{tag}, value)
		return from, prefixSuccessor(from)
	}
	from = AppendWholeTerm(nil, t)
	return from, append(bytes.Clone(from), 0, markTermEnd+1)
}

// prefixSuccessor returns the first byte string that is greater than all with
// the given prefix. Tags keep the prefix from being all FF.
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

// beforeLongs returns where the long terms stand that share their first 256
// units with a written term or value: before all others that go on from there,
// in the order of their hashes. It returns nil where written has no more than
// 256 units, so that keys compare with it as whole terms do.
func beforeLongs(written []byte) []byte {
	prefix := prefixOf(written)
	if len(prefix) == len(written) {
		return nil
	}
	return append(bytes.Clone(prefix), 0, markHash)
}

// compareTest returns a test of a term against a bound of the same class: by
// value where the class has values, else by whole written forms.
func compareTest(bound Term, accept func(int) bool) func(Term) bool {
	if _, want, ok := appendValueBytes(nil, bound); ok {
		return func(t Term) bool {
			_, value, ok := appendValueBytes(nil, t)
			return ok && accept(bytes.Compare(value, want))
		}
	}
	want := AppendWholeTerm(nil, bound)
	return func(t Term) bool { return accept(bytes.Compare(AppendWholeTerm(nil, t), want)) }
}

func isNaN(t Term) bool {
	return t.value == "NaN" && (t.datatype == XSDDouble || t.datatype == XSDFloat)
}

// narrow narrows kr to the terms that begin with s.Text.
func (s Starts) narrow(kr *KeyRange, base []byte) error {
	tag := byte(0)
	switch {
	case s.Kind == Blank:
		tag = tagBlank
	case s.Kind == IRI:
		tag = tagIRI
	case s.Kind == Literal && s.Lang == "":
		tag = tagString
	case s.Kind == Literal:
		tag = tagLangString
	default:
		return fmt.Errorf("%w: starts of a %s", ErrBadBounds, s.Kind)
	}
	lo := appendEscaped([]byte{tag}, s.Text)
	hi := prefixSuccessor(lo)
	longs := beforeLongs(lo)
	if longs != nil {
		lo = longs
	}
	kr.Range = kr.Range.Intersect(Range{
		Lo: append(bytes.Clone(base), lo...),
		Hi: append(bytes.Clone(base), hi...),
	})
	if s.Lang != "" || longs != nil {
		kr.check = func(t Term) bool {
			return strings.HasPrefix(t.value, s.Text) && strings.EqualFold(t.lang, s.Lang)
		}
	}
	return nil
}

// Exact reports whether every version in the range belongs to the answer.
func (kr *KeyRange) Exact() bool { return kr.check == nil }

// Accept reports whether a version of the range belongs to the answer. Annotation
// rows, which stand in some ranges, are not for it: skip them first. The error
// wraps [ErrCorrupt].
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
