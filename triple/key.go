// Keys of rows in the ordered space.

package triple

import (
	"bytes"
	"fmt"
)

// AppendKey appends the key of t in the given order. long is true if a term is long; the key alone
// then does not hold the triple (see [AppendValue]). If t is in the default graph, it has no key in
// GSPO, and dst is unchanged.
func AppendKey(dst []byte, o Order, t Triple) (_ []byte, long bool) {
	if o == GSPO && t.Graph.IsZero() {
		return dst, false
	}
	dst = append(dst, byte(o))
	for place, position := range positions[o] {
		term := t.term(position)
		if position == Graph && term.IsZero() {
			continue
		}
		if place > 0 {
			dst = append(dst, 0, markTermEnd)
		}
		var l bool
		dst, l = AppendTerm(dst, *term)
		long = long || l
	}
	return dst, long
}

// AppendKeyOf is [AppendKey] for terms in the form of [AppendTerm]; an empty g is the default
// graph.
func AppendKeyOf(dst []byte, o Order, s, p, obj, g []byte) []byte {
	if o == GSPO && len(g) == 0 {
		return dst
	}
	dst = append(dst, byte(o))
	var a, b, c []byte
	switch o {
	case SPO:
		a, b, c = s, p, obj
	case POS:
		a, b, c = p, obj, s
	case OSP:
		a, b, c = obj, s, p
	case GSPO:
		dst = append(append(dst, g...), 0, markTermEnd)
		a, b, c, g = s, p, obj, nil
	}
	dst = append(append(dst, a...), 0, markTermEnd)
	dst = append(append(dst, b...), 0, markTermEnd)
	dst = append(dst, c...)
	if len(g) > 0 {
		dst = append(append(dst, 0, markTermEnd), g...)
	}
	return dst
}

// KeyTerms are the encoded terms of one key, by position ([Subject], [Predicate], [Object],
// [Graph]). They alias the key. The graph is empty in the default graph.
type KeyTerms [4][]byte

// SplitKey splits a key into its order and terms. It does not check the terms themselves. The error
// wraps [ErrCorrupt].
func SplitKey(key []byte) (Order, KeyTerms, error) {
	var terms KeyTerms
	if len(key) == 0 || !Order(key[0]).Valid() {
		return 0, terms, fmt.Errorf("%w: key without an order", ErrCorrupt)
	}
	o := Order(key[0])
	rest := key[1:]
	for place, position := range positions[o] {
		end := termEnd(rest)
		if end == 0 {
			return 0, terms, fmt.Errorf("%w: empty term in a key of order %s", ErrCorrupt, o)
		}
		terms[position] = rest[:end:end]
		if end == len(rest) {
			if place == 3 || place == 2 && o != GSPO {
				return o, terms, nil
			}
			return 0, terms, fmt.Errorf("%w: key of order %s with %d terms", ErrCorrupt, o, place+1)
		}
		rest = rest[end+2:]
	}
	return 0, terms, fmt.Errorf("%w: key of order %s with more than four terms", ErrCorrupt, o)
}

// termEnd returns the end of the first term of b: at 00 01 or at the end.
func termEnd(b []byte) int {
	at := 0
	for {
		i := bytes.IndexByte(b[at:], 0)
		if i < 0 || at+i+1 >= len(b) {
			return len(b)
		}
		if b[at+i+1] == markTermEnd {
			return at + i
		}
		at += i + 2
	}
}

// AppendAnnotationKey appends the key of an application's annotation row: the triple's key, 00 04,
// ID. The ID must have 1 to 255 bytes.
func AppendAnnotationKey(dst, key []byte, applicationID string) []byte {
	dst = append(append(dst, key...), 0, markAnnotation)
	return append(dst, applicationID...)
}

// AnnotationBounds returns the bounds of all annotation rows of a triple's key.
func AnnotationBounds(key []byte) (lo, hi []byte) {
	lo = append(bytes.Clone(key), 0, markAnnotation)
	hi = append(bytes.Clone(key), 0, markAnnotation+1)
	return lo, hi
}

// SplitBound returns the greatest bound that is not above at and does not separate a triple's row
// from its annotations. If the triple is in the default graph, other rows may be between the two:
// the same triple's rows in named graphs, and triples whose last term is long and begins with this
// one's. The bound is a prefix of at.
func SplitBound(at []byte) []byte {
	// The number of terms determines the last one: only after it can an annotation's mark come.
	terms := 3
	if len(at) > 0 && Order(at[0]) == GSPO {
		terms = 4
	}
	for i := 0; i < len(at); i++ {
		if at[i] != 0 {
			continue
		}
		if i+1 == len(at) || at[i+1] == markAnnotation {
			return at[:i:i]
		}
		if at[i+1] == markHash && terms == 1 {
			// The bound must be here, because a triple whose last term ends here has its
			// annotations after at
			return at[:i:i]
		}
		if at[i+1] == markTermEnd {
			if terms--; terms == 0 {
				return at[:i:i]
			}
		}
		i++
	}
	return at
}

// HasLong reports whether a term of a key may be long: the key has only the beginning and a hash of
// such a term.
func HasLong(key []byte) bool { return bytes.Contains(key, []byte{0, markHash}) }

// CutAnnotation splits an annotation row's key into the triple's key and the application ID. ok is
// false if it is the triple's own key.
func CutAnnotation(key []byte) (version []byte, applicationID []byte, ok bool) {
	at := 0
	for {
		i := bytes.IndexByte(key[at:], 0)
		if i < 0 || at+i+1 >= len(key) {
			return key, nil, false
		}
		if key[at+i+1] == markAnnotation {
			return key[: at+i : at+i], key[at+i+2:], true
		}
		at += i + 2
	}
}

// DecodeKey decodes the triple of a key; long terms come from its value. The triple shares no
// memory with them. The error wraps [ErrCorrupt].
func DecodeKey(key, value []byte) (Order, Triple, error) {
	var t Triple
	o, terms, err := SplitKey(key)
	if err != nil {
		return 0, t, err
	}
	if terms, err = WholeTerms(terms, value); err != nil {
		return 0, t, err
	}
	for position, b := range terms {
		if position == Graph && len(b) == 0 {
			continue
		}
		term, err := decodeView(b)
		if err != nil {
			return 0, Triple{}, err
		}
		*t.term(position) = term.Clone()
	}
	return o, t, nil
}

// WholeTerms returns the whole encoded terms of a row: the terms of its key, but those of its value
// if they are long. They alias both. The error wraps [ErrCorrupt].
func WholeTerms(terms KeyTerms, value []byte) (KeyTerms, error) {
	if len(value) > 0 && value[0]&flagLong == 0 {
		return terms, nil // the usual case: nothing is long
	}
	v, err := DecodeValue(value)
	if err != nil {
		return terms, err
	}
	for position, whole := range v.Long {
		if whole == nil {
			continue
		}
		// The hash is not tested here, because [CheckKey] tests it.
		if n := bytes.Index(terms[position], []byte{0, markHash}); n <= longPrefix || !bytes.HasPrefix(whole, terms[position][:n]) {
			return terms, fmt.Errorf("%w: a long term in a value is not that of its key", ErrCorrupt)
		}
		terms[position] = whole
	}
	return terms, nil
}

// CheckKey returns nil if a row's key and value encode a triple. It tests everything that
// [DecodeKey] tests. The triple must be well-formed, its encoding must be the same key, and the
// value must hold exactly its long terms. The error wraps [ErrCorrupt].
func CheckKey(key, value []byte) error {
	o, t, err := DecodeKey(key, value)
	if err != nil {
		return err
	}
	if err := t.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	v, err := DecodeValue(value)
	if err != nil {
		return err
	}
	if again, _ := AppendKey(nil, o, t); !bytes.Equal(again, key) {
		return fmt.Errorf("%w: the key of order %s is not that of its triple %s", ErrCorrupt, o, clip(t.String()))
	}
	for position, whole := range v.Long {
		if whole != nil && !isLong(AppendWholeTerm(nil, *t.term(position))) {
			return fmt.Errorf("%w: a value holds a term that is not long", ErrCorrupt)
		}
	}
	return nil
}

// CompareTerms compares two terms in the order of keys: -1, 0 or +1. The zero Term comes first.
func CompareTerms(a, b Term) int {
	x, _ := AppendTerm(make([]byte, 0, 128), a)
	y, _ := AppendTerm(make([]byte, 0, 128), b)
	return bytes.Compare(x, y)
}

// Compare compares two triples in an order: term by term by [CompareTerms].
func (o Order) Compare(a, b Triple) int {
	for _, position := range positions[o] {
		if c := CompareTerms(*a.term(position), *b.term(position)); c != 0 {
			return c
		}
	}
	return 0
}

// AppendTwinBound appends a lower bound in POS for a range of OSP. pos must be a key of POS, and
// osp a key of OSP or the beginning of one. The bound is not above the key of any triple with the
// predicate of pos whose key in OSP is at least osp. If osp is empty, the bound is above the keys
// of all triples with the predicate.
//
// A range of OSP is one range of each predicate, because in both orders the subject follows the
// object.
func AppendTwinBound(dst, pos, osp []byte) []byte {
	predicate := 1 + termEnd(pos[1:])
	dst = append(dst, pos[:predicate]...)
	if len(osp) == 0 {
		return append(dst, 0, markTermEnd+1)
	}
	dst = append(dst, 0, markTermEnd)
	// Only the object and the subject of the bound count. A prefix is never above it.
	both := osp[1:]
	if object := termEnd(both); object < len(both) {
		subject := object + 2
		both = both[:subject+termEnd(both[subject:])]
	}
	return append(dst, bytes.TrimRight(both, "\x00")...)
}
