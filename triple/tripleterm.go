// Triple terms, and their depth.

package triple

import (
	"bytes"
	"fmt"
	"unsafe"
)

// A triple term has its bytes in keys as its value, without the tag. A triple term may be nested in
// the object of another one to any depth, so no function here recurses:
//
//	subject | 00 03 | predicate | 00 03 | 40 | subject | 00 03 | predicate | 00 03 | object

// NewTripleTerm returns the triple term <<( s p o )>> (RDF 1.2 Concepts, section 3.1). It copies the
// terms. [Term.Check] tests whether they make a triple.
func NewTripleTerm(s, p, o Term) Term {
	var b TripleTermBuilder
	b.Add(s, p)
	return b.Term(o)
}

// TripleTermBuilder makes a triple term from the outside in, in time linear in its size. Its zero
// value is empty.
type TripleTermBuilder struct{ body []byte }

// Add appends the subject and the predicate of the next level.
func (b *TripleTermBuilder) Add(s, p Term) {
	b.open()
	b.body = append(AppendWholeTerm(b.body, s), 0, markFieldEnd)
	b.body = append(AppendWholeTerm(b.body, p), 0, markFieldEnd)
}

// open begins a level.
func (b *TripleTermBuilder) open() {
	if len(b.body) > 0 {
		b.body = append(b.body, tagTriple)
	}
}

// Len returns the bytes of the levels so far.
func (b *TripleTermBuilder) Len() int { return len(b.body) }

// Term returns the triple term whose innermost object is o. The builder must not be used again.
func (b *TripleTermBuilder) Term(o Term) Term {
	return Term{kind: TripleTerm, value: view(AppendWholeTerm(b.body, o))}
}

// Triple returns the subject, predicate and object of a triple term. ok is false for other terms.
// The terms share memory with t. It takes time linear in the size of the subject, the predicate and
// an object that is no triple term, so a loop over all levels is linear in the size of t.
func (t Term) Triple() (inner Triple, ok bool) {
	if t.kind != TripleTerm {
		return Triple{}, false
	}
	s, p, o, err := splitTripleTerm(bytesOf(t.value))
	if err == nil {
		inner.Subject, err = decodeView(s)
	}
	if err == nil {
		inner.Predicate, err = decodeView(p)
	}
	switch {
	case err != nil:
	case o[0] == tagTriple:
		inner.Object = Term{kind: TripleTerm, value: view(o[1:])}
	default:
		inner.Object, err = decodeView(o)
	}
	return inner, err == nil
}

// MapBlanks returns t with each blank node replaced by replace of it: t itself, or those inside a
// triple term. The error is the first one of replace.
func (t Term) MapBlanks(replace func(Term) (Term, error)) (Term, error) {
	// 1. The usual case: no triple term.
	if t.kind == Blank {
		return replace(t)
	}
	if t.kind != TripleTerm {
		return t, nil
	}
	// 2. Each level from the outside in.
	var b TripleTermBuilder
	for {
		inner, ok := t.Triple()
		if !ok {
			return Term{}, errTripleTerm
		}
		s, err := inner.Subject.MapBlanks(replace)
		if err != nil {
			return Term{}, err
		}
		b.Add(s, inner.Predicate)
		if inner.Object.kind != TripleTerm {
			o, err := inner.Object.MapBlanks(replace)
			if err != nil {
				return Term{}, err
			}
			return b.Term(o), nil
		}
		t = inner.Object
	}
}

// HasBlanks reports whether t is a blank node or a triple term with one inside.
func (t Term) HasBlanks() bool {
	for t.kind == TripleTerm {
		inner, ok := t.Triple()
		if !ok || inner.Subject.kind == Blank {
			return ok
		}
		t = inner.Object
	}
	return t.kind == Blank
}

var errTripleTerm = fmt.Errorf("%w: malformed triple term", ErrCorrupt)

// SplitTripleTerm returns the encoded subject, predicate and object of an encoded triple term, in
// the form of [AppendWholeTerm]. They alias b. ok is false for other terms.
func SplitTripleTerm(b []byte) (s, p, o []byte, ok bool) {
	if len(b) == 0 || b[0] != tagTriple {
		return nil, nil, nil, false
	}
	s, p, o, err := splitTripleTerm(b[1:])
	return s, p, o, err == nil
}

// AppendTripleTerm appends the encoded triple term of encoded terms, in the form of [AppendWholeTerm]. ok is
// false if they make no triple, or a term that is longer than [MaxTermBytes].
func AppendTripleTerm(dst, s, p, o []byte) (term []byte, ok bool) {
	if len(s) == 0 || s[0] != tagIRI && s[0] != tagBlank || len(p) == 0 || p[0] != tagIRI || len(o) == 0 {
		return dst, false
	}
	start := len(dst)
	dst = append(append(append(dst, tagTriple), s...), 0, markFieldEnd)
	dst = append(append(dst, p...), 0, markFieldEnd)
	dst = append(dst, o...)
	return dst, len(dst)-start-1 <= MaxTermBytes
}

// splitTripleTerm splits the body of a triple term. It checks only the kinds of its terms.
func splitTripleTerm(body []byte) (s, p, o []byte, err error) {
	mark := []byte{0, markFieldEnd}
	s, rest, ok := bytes.Cut(body, mark)
	if !ok || len(s) == 0 || s[0] != tagIRI && s[0] != tagBlank {
		return nil, nil, nil, errTripleTerm
	}
	p, o, ok = bytes.Cut(rest, mark)
	if !ok || len(p) == 0 || p[0] != tagIRI || len(o) == 0 {
		return nil, nil, nil, errTripleTerm
	}
	return s, p, o, nil
}

// decodeTripleTerm checks the structure of each level of a body and returns the term. It aliases
// body.
func decodeTripleTerm(body []byte) (Term, error) {
	for o := body; ; {
		s, p, next, err := splitTripleTerm(o)
		if err != nil {
			return Term{}, err
		}
		for _, b := range [][]byte{s, p} {
			if _, err := decodeView(b); err != nil {
				return Term{}, err
			}
		}
		if next[0] != tagTriple {
			_, err := decodeView(next)
			return Term{kind: TripleTerm, value: view(body)}, err
		}
		o = next[1:]
	}
}

// checkTripleTerm is [Term.Check] for a triple term.
func (t Term) checkTripleTerm() error {
	for {
		inner, ok := t.Triple()
		if !ok {
			return fmt.Errorf("%w: the terms of a triple term make no triple", ErrBadTerm)
		}
		last := inner.Object.kind != TripleTerm
		if last {
			// The bytes of a value must be those of its lexical form.
			_, _, o, _ := splitTripleTerm(bytesOf(t.value))
			if !bytes.Equal(AppendWholeTerm(nil, inner.Object), o) {
				return fmt.Errorf("%w: malformed value in a triple term", ErrBadTerm)
			}
		} else {
			t = inner.Object
			inner.Object = inner.Predicate // the next round checks the object
		}
		if err := inner.Check(); err != nil {
			return fmt.Errorf("in a triple term: %w", err)
		}
		if last {
			return nil
		}
	}
}

// tripleSpan is valueSpan for a triple term. Its innermost object counts by value; byValue reports
// whether that has one.
func tripleSpan(t Term) (from, after []byte, byValue bool) {
	from = []byte{tagTriple}
	body := bytesOf(t.value)
	for {
		s, p, o, err := splitTripleTerm(body)
		if err != nil {
			break
		}
		from = append(append(from, s...), 0, markFieldEnd)
		from = append(append(from, p...), 0, markFieldEnd)
		if o[0] == tagTriple {
			from = append(from, tagTriple)
			body = o[1:]
			continue
		}
		object, err := decodeView(o)
		if err != nil {
			break
		}
		_, _, byValue = appendValueBytes(nil, object)
		first, next := valueSpan(object)
		after = append(bytes.Clone(from), next...)
		return append(from, first...), after, byValue
	}
	from = AppendWholeTerm(nil, t)
	return from, append(bytes.Clone(from), 0, markTermEnd+1), false
}

// tripleStart returns the beginning of a triple term's body without the lexical form of a whole object
// with a value.
func tripleStart(text string) string {
	body := bytesOf(text)
	for {
		_, _, o, err := splitTripleTerm(body)
		if err != nil {
			return text // it ends before the object
		}
		if o[0] == tagTriple {
			body = o[1:]
			continue
		}
		object, err := decodeView(o)
		if err != nil {
			return text
		}
		if _, _, ok := appendValueBytes(nil, object); !ok {
			return text
		}
		from, _ := valueSpan(object)
		if !bytes.HasPrefix(o, from) {
			return text // it ends inside the lexical form, and what is left of this has another value
		}
		return text[:len(text)-len(o)] + string(from)
	}
}

// bytesOf returns the bytes of s without a copy. They must not be changed.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// DefaultNesting is the default of [MaxNesting]. No vocabulary nests triple terms more than twice, and
// clients of many languages read nested terms by recursion.
const DefaultNesting = 100

// maxNesting is what [MaxNesting] returns. It is written before the process has goroutines that parse.
var maxNesting = DefaultNesting

// MaxNesting returns the greatest number of levels of a triple term that parsers and functions of this
// process make: an IRI has none, <<( s p o )>> has one. Rows of a store may have deeper ones, because
// releases before had no limit.
func MaxNesting() int { return maxNesting }

// SetMaxNesting sets the limit of the process; 0 is [DefaultNesting]. A program must call it at its
// start, because a change is not safe beside parsers.
func SetMaxNesting(levels int) {
	if levels == 0 {
		levels = DefaultNesting
	}
	if levels != maxNesting { // a second server of the process with the same limit changes nothing
		maxNesting = levels
	}
}

// CheckNesting returns an error that wraps [ErrBadTerm] if levels is more than [MaxNesting].
func CheckNesting(levels int) error {
	if levels <= MaxNesting() {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrBadTerm, tooDeep())
}

// tooDeep returns the message for a triple term with too many levels.
func tooDeep() string {
	return fmt.Sprintf("triple terms are nested more than %d deep; name the inner ones by reifiers, or raise --max-nesting", MaxNesting())
}

// Levels returns the number of levels of a triple term, counted to limit+1 at most; 0 for other terms.
func (t Term) Levels(limit int) int {
	levels := 0
	for t.kind == TripleTerm && levels <= limit {
		inner, ok := t.Triple()
		if !ok {
			break
		}
		levels++
		t = inner.Object
	}
	return levels
}

// CheckNesting is the function CheckNesting for the levels of t.
func (t Term) CheckNesting() error { return CheckNesting(t.Levels(MaxNesting())) }
