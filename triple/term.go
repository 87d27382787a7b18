package triple

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind tells what a [Term] is. The zero Kind is "no term": the default graph in
// a [Triple], a wildcard in a [Pattern].
type Kind uint8

// The kinds of terms, in the order in which they sort.
const (
	None Kind = iota
	Blank
	IRI
	Literal
)

// String returns the kind's name for messages.
func (k Kind) String() string {
	switch k {
	case None:
		return "none"
	case Blank:
		return "blank node"
	case IRI:
		return "IRI"
	case Literal:
		return "literal"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MaxTermBytes is the greatest size of a term: the bytes of its decoded value
// (label, IRI or lexical form), language tag, and datatype IRI where one is
// written (not xsd:string and rdf:langString) together.
const MaxTermBytes = 16 << 20

// Errors of terms; test with [errors.Is].
var (
	ErrTermTooLong = errors.New("term is longer than 16 MiB")
	ErrBadTerm     = errors.New("malformed term")
)

// Term is one RDF 1.1 term: a blank node, an IRI or a literal (RDF 1.1
// Concepts, section 3). Terms are values: comparable with ==, usable as map
// keys, and never changed. Two terms are == exactly when they are the same RDF
// term: the lexical form counts, so "01" and "1" of xsd:integer differ, and a
// language tag counts as written. To sort by value use [CompareTerms].
type Term struct {
	kind     Kind
	value    string // label, IRI, or lexical form
	datatype string // literals only, always set
	lang     string // language-tagged strings only, as written
}

// NewIRI returns the IRI term with the given absolute IRI, without brackets.
func NewIRI(iri string) Term { return Term{kind: IRI, value: iri} }

// NewBlank returns the blank node with the given label, without the leading "_:".
func NewBlank(label string) Term { return Term{kind: Blank, value: label} }

// NewString returns a plain literal: one of datatype xsd:string.
func NewString(s string) Term { return Term{kind: Literal, value: s, datatype: XSDString} }

// NewTyped returns the literal with the given lexical form and datatype IRI. An
// empty datatype means xsd:string.
func NewTyped(lexical, datatype string) Term {
	if datatype == "" {
		datatype = XSDString
	}
	return Term{kind: Literal, value: lexical, datatype: datatype}
}

// NewLang returns the language-tagged string with the given lexical form and
// tag (without "@").
func NewLang(lexical, tag string) Term {
	return Term{kind: Literal, value: lexical, datatype: RDFLangString, lang: tag}
}

// Kind returns the term's kind.
func (t Term) Kind() Kind { return t.kind }

// IsZero reports whether t is no term at all.
func (t Term) IsZero() bool { return t.kind == None }

// Value returns a blank node's label (without "_:"), an IRI (without brackets)
// or a literal's lexical form.
func (t Term) Value() string { return t.value }

// Datatype returns a literal's datatype IRI; "" for other kinds.
func (t Term) Datatype() string { return t.datatype }

// Lang returns a language-tagged string's tag as written; "" for all others.
func (t Term) Lang() string { return t.lang }

// Clone returns t with strings of its own. Terms that a [Scanner] returned
// alias its buffer until they are cloned.
func (t Term) Clone() Term {
	t.value = strings.Clone(t.value)
	// Well-known datatypes are constants of the program already.
	if dt, ok := knownDatatype(t.datatype); ok {
		t.datatype = dt
	} else {
		t.datatype = strings.Clone(t.datatype)
	}
	t.lang = strings.Clone(t.lang)
	return t
}

// String returns the term in canonical N-Triples syntax; "" for the zero Term.
func (t Term) String() string { return string(AppendNT(nil, t)) }

// size returns the bytes of t that count towards [MaxTermBytes].
func (t Term) size() int {
	n := len(t.value) + len(t.lang)
	if t.datatype != XSDString && t.lang == "" {
		n += len(t.datatype)
	}
	return n
}

// Check returns nil where t is a well-formed term: an absolute IRI without the
// characters that N-Triples forbids, a blank node label of the grammar, a
// literal of valid UTF-8 with a well-formed language tag; none longer than
// [MaxTermBytes]. The error wraps [ErrBadTerm] or [ErrTermTooLong].
func (t Term) Check() error {
	if t.size() > MaxTermBytes {
		return ErrTermTooLong
	}
	switch t.kind {
	case Blank:
		if n := scanBlankLabel(t.value); n != len(t.value) || n == 0 {
			return fmt.Errorf("%w: blank node label %q", ErrBadTerm, clip(t.value))
		}
	case IRI:
		if err := CheckIRI(t.value); err != nil {
			return fmt.Errorf("%w: %w", ErrBadTerm, err)
		}
	case Literal:
		if !utf8.ValidString(t.value) {
			return fmt.Errorf("%w: literal is not valid UTF-8", ErrBadTerm)
		}
		if t.lang != "" {
			if t.datatype != RDFLangString {
				return fmt.Errorf("%w: literal with a language tag and datatype <%s>", ErrBadTerm, clip(t.datatype))
			}
			if n := scanLangTag(t.lang); n != len(t.lang) {
				return fmt.Errorf("%w: language tag %q", ErrBadTerm, clip(t.lang))
			}
			return nil
		}
		if t.datatype == RDFLangString {
			return fmt.Errorf("%w: a literal of datatype rdf:langString without a language tag", ErrBadTerm)
		}
		if err := CheckIRI(t.datatype); err != nil {
			return fmt.Errorf("%w: datatype: %w", ErrBadTerm, err)
		}
	default:
		return fmt.Errorf("%w: no term", ErrBadTerm)
	}
	return nil
}

// clip shortens a string that goes into a message.
func clip(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	for cut := limit; cut > limit-utf8.UTFMax; cut-- {
		if utf8.RuneStart(s[cut]) {
			return s[:cut] + "..."
		}
	}
	return s[:limit] + "..."
}
