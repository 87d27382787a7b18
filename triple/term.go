// Terms and triples.

package triple

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind is the kind of a [Term]. The zero Kind is "no term": the default graph in a [Triple], a
// wildcard in a [Pattern].
type Kind uint8

// The kinds of terms, in sort order.
const (
	None Kind = iota
	Blank
	IRI
	Literal
	TripleTerm
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
	case TripleTerm:
		return "triple term"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MaxTermBytes is the largest size of a term. It counts the bytes of its decoded value (label, IRI
// or lexical form) and language tag. It also counts the datatype IRI if one is written (not
// xsd:string and rdf:langString). It counts the encoded bytes of a triple term.
const MaxTermBytes = 16 << 20

// Errors of terms; test with [errors.Is].
var (
	ErrTermTooLong = errors.New("term is longer than 16 MiB")
	ErrBadTerm     = errors.New("malformed term")
)

// Term is one RDF 1.2 term: a blank node, an IRI, a literal or a triple term (RDF 1.2 Concepts,
// section 3). Terms are immutable values: they may be compared with == and used as map keys. Two
// terms are == only if they are the same RDF term. The lexical form counts, so "01" and "1" of
// xsd:integer differ. Language tags are in lower case, so "a"@EN and "a"@en are one term (RDF 1.2 Concepts, section
// 3.4). Only a term decoded from a row of an earlier release may have capital letters there: see [Term.Fold].
// [CompareTerms] compares terms by value.
type Term struct {
	kind     Kind
	value    string // label, IRI, lexical form, or body of a triple term
	datatype string // literals only, always set
	lang     string // language-tagged strings only, with the direction: ar--rtl
}

// NewIRI returns the IRI term with the given absolute IRI, without brackets.
func NewIRI(iri string) Term { return Term{kind: IRI, value: iri} }

// NewBlank returns the blank node with the given label, without the leading "_:".
func NewBlank(label string) Term { return Term{kind: Blank, value: label} }

// NewString returns a plain literal: its datatype is xsd:string.
func NewString(s string) Term { return Term{kind: Literal, value: s, datatype: XSDString} }

// NewTyped returns the literal with the given lexical form and datatype IRI. An empty datatype
// means xsd:string.
func NewTyped(lexical, datatype string) Term {
	if datatype == "" {
		datatype = XSDString
	}
	return Term{kind: Literal, value: lexical, datatype: datatype}
}

// NewLang returns the language-tagged string with the given lexical form and tag (without "@"), whose
// language gets lower case. The tag may have a base direction: "ar--rtl" makes a directional language-tagged string.
func NewLang(lexical, tag string) Term { return writtenLang(lexical, foldTag(tag)) }

// writtenLang is NewLang, but keeps the tag as it is.
func writtenLang(lexical, tag string) Term {
	datatype := RDFLangString
	if strings.Contains(tag, directionMark) {
		datatype = RDFDirLangString
	}
	return Term{kind: Literal, value: lexical, datatype: datatype, lang: tag}
}

// directionMark separates a language tag and a base direction, which is ltr or rtl (RDF 1.2 Turtle,
// LANG_DIR).
const directionMark = "--"

// foldTag returns a tag with its language in lower case. It leaves the direction, which must be in lower case, and characters
// other than ASCII: with them the tag is malformed.
func foldTag(tag string) string {
	language, _, _ := strings.Cut(tag, directionMark)
	for i := range len(language) {
		if c := language[i]; 'A' <= c && c <= 'Z' {
			b := []byte(tag)
			for ; i < len(language); i++ {
				if c := b[i]; 'A' <= c && c <= 'Z' {
					b[i] = c + 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return tag
}

// Fold returns t with its language tag in lower case, also inside a triple term. It changes only terms that
// were decoded from rows of an earlier release, which kept tags as written. All others it returns as they are.
func (t Term) Fold() Term {
	if t.kind != TripleTerm {
		t.lang = foldTag(t.lang)
		return t
	}
	// Only the innermost object can have a tag.
	var b TripleTermBuilder
	for level := t; ; {
		inner, ok := level.Triple()
		if !ok {
			return t // malformed
		}
		b.Add(inner.Subject, inner.Predicate)
		if inner.Object.kind != TripleTerm {
			return b.Term(inner.Object.Fold())
		}
		level = inner.Object
	}
}

// Kind returns the term's kind.
func (t Term) Kind() Kind { return t.kind }

// IsZero reports whether t is no term at all.
func (t Term) IsZero() bool { return t.kind == None }

// Value returns a blank node's label (without "_:"), an IRI (without brackets) or a literal's
// lexical form. For a triple term it returns bytes that are equal only if the terms are, but are no
// text; see [Term.Triple].
func (t Term) Value() string { return t.value }

// Datatype returns a literal's datatype IRI; "" for other kinds.
func (t Term) Datatype() string { return t.datatype }

// Lang returns a language-tagged string's tag in lower case, without a base direction; "" for all
// others.
func (t Term) Lang() string {
	tag, _, _ := strings.Cut(t.lang, directionMark)
	return tag
}

// Direction returns the base direction of a directional language-tagged string, "ltr" or "rtl"; ""
// for all others.
func (t Term) Direction() string {
	_, direction, _ := strings.Cut(t.lang, directionMark)
	return direction
}

// LangDir returns a language-tagged string's tag in lower case, with its base direction if it has one:
// "ar--rtl", as in Turtle after "@".
func (t Term) LangDir() string { return t.lang }

// Clone returns t with its own strings. Terms of a [Scanner] must be cloned to be kept, because
// they alias its buffer.
func (t Term) Clone() Term {
	t.value = strings.Clone(t.value)
	// Well-known datatypes need no copy, because they are constants of the program.
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

// Check returns nil if t is a well-formed term. An IRI must be absolute, without the characters
// that N-Triples forbids. A blank node label must match the grammar. A literal must be valid UTF-8,
// and its language tag well-formed. None may be longer than [MaxTermBytes]. The error wraps
// [ErrBadTerm] or [ErrTermTooLong].
func (t Term) Check() error {
	// The size comes first, because the other checks take time linear in it.
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
		// A language tag and rdf:langString must occur together.
		if t.lang != "" {
			if t.datatype != writtenLang("", t.lang).datatype {
				return fmt.Errorf("%w: literal with a language tag and datatype <%s>", ErrBadTerm, clip(t.datatype))
			}
			if n := scanLangTag(t.lang); n != len(t.lang) {
				return fmt.Errorf("%w: language tag %q", ErrBadTerm, clip(t.lang))
			}
			if err := checkDirection(t.lang); err != nil {
				return fmt.Errorf("%w: %w", ErrBadTerm, err)
			}
			return nil
		}
		if needsLang(t.datatype) {
			return fmt.Errorf("%w: a literal of datatype <%s> without a language tag", ErrBadTerm, t.datatype)
		}
		if err := CheckIRI(t.datatype); err != nil {
			return fmt.Errorf("%w: datatype: %w", ErrBadTerm, err)
		}
	case TripleTerm:
		return t.checkTripleTerm()
	default:
		return fmt.Errorf("%w: no term", ErrBadTerm)
	}
	return nil
}

// needsLang reports whether the literals of a datatype must have a language tag.
func needsLang(datatype string) bool {
	return datatype == RDFLangString || datatype == RDFDirLangString
}

// checkDirection returns an error if the base direction of a language tag is not ltr or rtl.
func checkDirection(tag string) error {
	_, direction, ok := strings.Cut(tag, directionMark)
	if ok && direction != "ltr" && direction != "rtl" {
		return fmt.Errorf("the base direction %q of the language tag %q is not ltr or rtl", clip(direction), clip(tag))
	}
	return nil
}

// maxSubtag is the most characters of a subtag of a language tag (BCP 47, section 2.1).
const maxSubtag = 8

// CheckLanguage returns an error that wraps [ErrBadTerm] if t is a literal, or a triple term around one,
// whose language tag has a subtag of more than eight characters. Parsers must call it. [Term.Check] does
// not, because rows of a store may have such tags: releases before took them.
func (t Term) CheckLanguage() error {
	for t.kind == TripleTerm {
		inner, ok := t.Triple()
		if !ok {
			return nil
		}
		t = inner.Object
	}
	if err := checkSubtags(t.lang); err != nil {
		return fmt.Errorf("%w: %w", ErrBadTerm, err)
	}
	return nil
}

// checkSubtags returns an error if a subtag of a language tag is too long.
func checkSubtags(tag string) error {
	language, _, _ := strings.Cut(tag, directionMark)
	for start, i := 0, 0; i <= len(language); i++ {
		if i < len(language) && language[i] != '-' {
			continue
		}
		if i-start > maxSubtag {
			return fmt.Errorf("the language tag %q is not well-formed, because %q has more than %d characters", clip(tag), clip(language[start:i]), maxSubtag)
		}
		start = i + 1
	}
	return nil
}

// clip shortens a string for a message to about 80 bytes.
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

// Triple is an RDF triple with an optional graph name: a quad of an RDF dataset. The zero Graph is
// the default graph.
type Triple struct {
	Subject, Predicate, Object Term
	Graph                      Term
}

// Check returns nil if t is a triple of RDF 1.2. The subject must be an IRI or a blank node, the
// predicate an IRI, the object any term, and the graph absent, an IRI or a blank node. Every term
// must be well-formed (see [Term.Check]).
func (t Triple) Check() error {
	switch {
	case t.Subject.kind != IRI && t.Subject.kind != Blank:
		return fmt.Errorf("%w: the subject is a %s, not an IRI or a blank node", ErrBadTerm, t.Subject.kind)
	case t.Predicate.kind != IRI:
		return fmt.Errorf("%w: the predicate is a %s, not an IRI", ErrBadTerm, t.Predicate.kind)
	case t.Graph.kind == Literal || t.Graph.kind == TripleTerm:
		return fmt.Errorf("%w: the graph name is a %s, not an IRI or a blank node", ErrBadTerm, t.Graph.kind)
	}
	if err := t.Subject.Check(); err != nil {
		return fmt.Errorf("subject: %w", err)
	}
	if err := t.Predicate.Check(); err != nil {
		return fmt.Errorf("predicate: %w", err)
	}
	if err := t.Object.Check(); err != nil {
		return fmt.Errorf("object: %w", err)
	}
	if !t.Graph.IsZero() {
		if err := t.Graph.Check(); err != nil {
			return fmt.Errorf("graph: %w", err)
		}
	}
	return nil
}

// Clone returns t with its own strings (see [Term.Clone]).
func (t Triple) Clone() Triple {
	return Triple{t.Subject.Clone(), t.Predicate.Clone(), t.Object.Clone(), t.Graph.Clone()}
}

// String returns the triple as one canonical N-Quads statement without the line end.
func (t Triple) String() string {
	line := AppendNQuad(nil, t)
	return string(line[:len(line)-1])
}
