package triple

import (
	"fmt"
	"strings"
)

// Text that people type (HTTP parameters, command lines) is N-Triples syntax
// plus: the prefixes xsd:, rdf: and rdfs: in terms and datatypes, bare numbers
// (100 is an xsd:integer, 1.5 an xsd:decimal, 1e3 an xsd:double, as in Turtle),
// true and false, and a for rdf:type where a predicate may stand.

var textPrefixes = [...][2]string{
	{"xsd:", XSD},
	{"rdf:", RDF},
	{"rdfs:", "http://www.w3.org/2000/01/rdf-schema#"},
}

// ParseTerm reads one term in text form. The error says what is wrong and at
// which byte.
func ParseTerm(text string) (Term, error) {
	t, rest, err := cutTerm(strings.TrimSpace(text))
	if err != nil {
		return Term{}, err
	}
	if strings.TrimSpace(rest) != "" {
		return Term{}, fmt.Errorf("%w: %q after the term %s", ErrBadTerm, clip(strings.TrimSpace(rest)), t)
	}
	return t, nil
}

// ParseTerms reads terms in text form, separated by white space.
func ParseTerms(text string) ([]Term, error) {
	var terms []Term
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return terms, nil
		}
		t, rest, err := cutTerm(text)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
		text = rest
	}
}

// ParsePattern reads a triple pattern in text form: a subject, a predicate, an
// object and, optionally, a graph; "?", "?name" and "*" match any term, and as
// a graph "default" is the default graph. A "." may end it. Empty text matches all.
func ParsePattern(text string) (Pattern, error) {
	var p Pattern
	places := [...]*Term{&p.Subject, &p.Predicate, &p.Object, &p.Graph}
	n := 0
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" || text == "." {
			break
		}
		if n == len(places) {
			return p, fmt.Errorf("%w: more than four terms in a pattern: %q", ErrBadTerm, clip(text))
		}
		word := text[:wordLen(text)]
		switch {
		case word == "*" || word[0] == '?':
			text = text[len(word):]
		case word == "default" && n == Graph:
			p.DefaultGraph = true
			text = text[len(word):]
		case word == "a" && n == Predicate:
			p.Predicate = NewIRI(RDFType)
			text = text[len(word):]
		default:
			t, rest, err := cutTerm(text)
			if err != nil {
				return p, err
			}
			*places[n], text = t, rest
		}
		n++
	}
	if n != 0 && n < 3 {
		return p, fmt.Errorf("%w: a pattern has three terms (and may have a graph), this has %d; write ? for any", ErrBadTerm, n)
	}
	return p, nil
}

// wordLen returns the length of the first word of non-empty text.
func wordLen(text string) int {
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// cutTerm reads the term at the start of text.
func cutTerm(text string) (t Term, rest string, err error) {
	if text == "" {
		return t, "", fmt.Errorf("%w: expected a term, found nothing", ErrBadTerm)
	}
	switch text[0] {
	case '<', '_', '"':
		return cutNTTerm(text)
	}
	word := text[:wordLen(text)]
	rest = text[len(word):]
	if iri, ok := expandPrefix(word); ok {
		t = NewIRI(iri)
		return t, rest, t.Check()
	}
	if datatype := bareDatatype(word); datatype != "" {
		return NewTyped(word, datatype), rest, nil
	}
	return t, "", fmt.Errorf("%w: %q is neither <IRI>, _:label, \"literal\", a number, true, false, nor a name with xsd:, rdf: or rdfs:", ErrBadTerm, clip(word))
}

func expandPrefix(word string) (string, bool) {
	for _, p := range textPrefixes {
		if strings.HasPrefix(word, p[0]) && len(word) > len(p[0]) {
			return p[1] + word[len(p[0]):], true
		}
	}
	return "", false
}

// bareDatatype returns the datatype of an unquoted literal, "" for other words.
func bareDatatype(word string) string {
	n := skipDecimal(word)
	switch {
	case word == "true" || word == "false":
		return XSDBoolean
	case n < 0:
		return ""
	case n == len(word) && !strings.Contains(word, "."):
		return XSDInteger
	case n == len(word):
		return XSDDecimal
	}
	if _, ok := parseFloat(codeDouble, word); ok {
		return XSDDouble
	}
	return ""
}

func cutNTTerm(text string) (Term, string, error) {
	b := []byte(text)
	end, terr := scanToken(b, 0)
	if terr != nil {
		// A datatype may be a prefixed name, which the grammar's token has not.
		if t, rest, ok := cutPrefixedLiteral(text); ok {
			return t, rest, nil
		}
		return Term{}, "", fmt.Errorf("%w: at byte %d of %q: %s", ErrBadTerm, terr.at, clip(text), terr.msg)
	}
	if end < len(b) && !strings.ContainsRune(" \t\r\n.", rune(b[end])) {
		return Term{}, "", fmt.Errorf("%w: at byte %d of %q: expected white space after a term", ErrBadTerm, end, clip(text))
	}
	t, _, terr := decodeToken(b[:end:end], nil)
	if terr != nil {
		return Term{}, "", fmt.Errorf("%w: at byte %d of %q: %s", ErrBadTerm, terr.at, clip(text), terr.msg)
	}
	return t, text[end:], t.Check()
}

// cutPrefixedLiteral reads "lexical"^^xsd:name.
func cutPrefixedLiteral(text string) (t Term, rest string, ok bool) {
	b := []byte(text)
	if b[0] != '"' {
		return t, "", false
	}
	end := closingQuote(b, 1)
	if end < 0 || !strings.HasPrefix(text[end+1:], "^^") {
		return t, "", false
	}
	rest = text[end+3:]
	if rest == "" {
		return t, "", false
	}
	word := rest[:wordLen(rest)]
	datatype, ok := expandPrefix(word)
	if !ok {
		return t, "", false
	}
	value, _, err := decodeString(b[1:end], nil)
	if err != nil || CheckIRI(datatype) != nil || datatype == RDFLangString {
		return t, "", false
	}
	return NewTyped(value, datatype), rest[len(word):], true
}

// ParseStarts reads the beginning of a term: <http://ex/ (no closing bracket),
// "Mü (plain strings), "Mü"@de (strings of that language) or _:b.
func ParseStarts(text string) (Starts, error) {
	switch {
	case strings.HasPrefix(text, "<"):
		iri := strings.TrimSuffix(text[1:], ">")
		for i := range len(iri) {
			if c := iri[i]; c < 0x80 && asciiClass[c]&classIRI == 0 {
				return Starts{}, fmt.Errorf("%w: character %q is not allowed in an IRI", ErrBadTerm, rune(c))
			}
		}
		return Starts{Kind: IRI, Text: iri}, nil
	case strings.HasPrefix(text, "_:"):
		return Starts{Kind: Blank, Text: text[2:]}, nil
	case strings.HasPrefix(text, `"`):
		return parseStartsLiteral([]byte(text))
	}
	return Starts{}, fmt.Errorf("%w: starts begins with <, \" or _: (<http://ex/, \"Mü, \"Mü\"@de), not %q", ErrBadTerm, clip(text))
}

func parseStartsLiteral(b []byte) (Starts, error) {
	lang := ""
	inner := b[1:]
	if end := closingQuote(b, 1); end >= 0 {
		inner = b[1:end]
		if rest := string(b[end+1:]); rest != "" {
			if rest[0] != '@' || scanLangTag(rest[1:]) != len(rest)-1 {
				return Starts{}, fmt.Errorf("%w: after the text of starts only a language tag may follow, not %q", ErrBadTerm, clip(rest))
			}
			lang = rest[1:]
		}
	}
	value, _, err := decodeString(inner, nil)
	if err != nil {
		return Starts{}, fmt.Errorf("%w: starts: at byte %d: %s", ErrBadTerm, err.at, err.msg)
	}
	return Starts{Kind: Literal, Text: strings.Clone(value), Lang: lang}, nil
}
