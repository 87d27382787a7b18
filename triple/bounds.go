package triple

import (
	"bytes"
	"errors"
	"fmt"
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
		return fmt.Errorf("%w: the bounds %s and %s are of different classes", ErrBadBounds, lower.term, upper.term)
	}
	lo, hi := class.lo, class.hi
	var tests []func(Term) bool
	if !lower.term.IsZero() {
		if isNaN(lower.term) {
			lo = hi
		} else {
			from, after := valueSpan(lower.term)
			lo = from
			if lower.strict {
				lo = after
			}
			if longest(lower.term) > longPrefix {
				// Long terms of the same prefix stand before all others of it.
				lo = whole256(lower.term)
				tests = append(tests, compareTest(lower.term, func(c int) bool { return c > 0 || c == 0 && !lower.strict }))
			}
		}
	}
	if !upper.term.IsZero() {
		if isNaN(upper.term) {
			hi = lo
		} else {
			from, after := valueSpan(upper.term)
			hi = after
			if upper.strict {
				hi = from
			}
			if longest(upper.term) > longPrefix {
				tests = append(tests, compareTest(upper.term, func(c int) bool { return c < 0 || c == 0 && !upper.strict }))
			}
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
	b := AppendWholeTerm(nil, t)
	switch tag := b[0]; tag {
	case tagOther:
		lo := append(appendEscaped([]byte{tagOther}, t.datatype), 0, markFieldEnd)
		return classRange{lo, append(lo[:len(lo)-1:len(lo)-1], markFieldEnd+1)}
	case tagNumber:
		return classRange{[]byte{tag}, append([]byte{tag}, nanBytes[:]...)}
	default:
		return classRange{[]byte{tag}, []byte{tag + 1}}
	}
}

// valueSpan returns the bytes that the written terms of t's value begin at, and
// the first ones beyond: for numbers, booleans and dates all terms of the same
// value, for all others t alone.
func valueSpan(t Term) (from, after []byte) {
	if tag, value, ok := appendValueBytes(nil, t); ok && t.kind == Literal {
		from = appendEscapedBytes([]byte{tag}, value)
		return from, prefixSuccessor(from)
	}
	// The whole form, even where it is long: among the short terms of the same
	// prefix that is where it belongs.
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

// longest returns a lower limit of the units that t's body has.
func longest(t Term) int { return len(t.value) + len(t.lang) + len(t.datatype) }

// whole256 returns the bytes that long terms with the first 256 units of t
// begin with, or t's own written form where it is shorter.
func whole256(t Term) []byte {
	b := AppendWholeTerm(nil, t)
	return b[:1+unitsLen(b[1:], longPrefix)]
}

// compareTest returns a test of a term against a bound of the same class, by
// whole written forms: by value and, at the same value, as keys compare.
func compareTest(bound Term, accept func(int) bool) func(Term) bool {
	tag, value, byValue := appendValueBytes(nil, bound)
	if byValue {
		want := appendEscapedBytes([]byte{tag}, value)
		return func(t Term) bool {
			tag, value, ok := appendValueBytes(nil, t)
			return ok && accept(bytes.Compare(appendEscapedBytes([]byte{tag}, value), want))
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
	written := appendEscaped([]byte{tag}, s.Text)
	lo := written
	if len(s.Text) > longPrefix {
		lo = written[:1+unitsLen(written[1:], longPrefix)]
	}
	hi := prefixSuccessor(written)
	kr.Range = kr.Range.Intersect(Range{
		Lo: append(bytes.Clone(base), lo...),
		Hi: append(bytes.Clone(base), hi...),
	})
	if s.Lang != "" || len(s.Text) > longPrefix {
		kr.check = func(t Term) bool {
			return strings.HasPrefix(t.value, s.Text) && strings.EqualFold(t.lang, s.Lang)
		}
	}
	return nil
}

// Exact tells whether every version in the range belongs to the answer.
func (kr *KeyRange) Exact() bool { return kr.check == nil }

// Accept tells whether a version of the range belongs to the answer. The error
// wraps [ErrCorrupt].
func (kr *KeyRange) Accept(terms KeyTerms, value []byte) (bool, error) {
	if kr.check == nil {
		return true, nil
	}
	whole, err := WholeTerms(terms, value)
	if err != nil {
		return false, err
	}
	t, err := decodeView(whole[kr.at], func(s string) string { return s })
	if err != nil {
		return false, err
	}
	return kr.check(t), nil
}
