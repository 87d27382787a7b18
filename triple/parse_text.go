// Terms and triples from the text of users, and syntax errors with places.

package triple

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Text of users (HTTP parameters, command lines) is N-Triples syntax with additions. Terms and
// datatypes may have the prefixes xsd:, rdf: and rdfs:. Bare numbers are allowed (100 is an
// xsd:integer, 1.5 an xsd:decimal, 1e3 an xsd:double, as in Turtle), and so are true and false. A
// predicate may be written "a" for rdf:type.

// Text parses text of users with further prefixes. Its zero value has none.
type Text struct {
	// Prefix returns the IRI of a prefix, without ':'. It is called for others than xsd, rdf and rdfs.
	// It may be nil.
	Prefix func(name string) (iri string, ok bool)

	inTriple bool // the text is inside a triple term, so a term may end without white space
}

var textPrefixes = [...][2]string{
	{"xsd:", XSD},
	{"rdf:", RDF},
	{"rdfs:", "http://www.w3.org/2000/01/rdf-schema#"},
}

// ParseTerm parses one term in text form. The error has its reason and, if possible, its byte.
func ParseTerm(text string) (Term, error) { return Text{}.Term(text) }

// Term is [ParseTerm].
func (x Text) Term(text string) (Term, error) {
	t, rest, err := x.cutTerm(strings.TrimSpace(text))
	if err != nil {
		return Term{}, err
	}
	if strings.TrimSpace(rest) != "" {
		return Term{}, fmt.Errorf("%w: %q after the term %s", ErrBadTerm, clip(strings.TrimSpace(rest)), t)
	}
	return t, nil
}

// ParseTerms parses terms in text form, separated by white space.
func ParseTerms(text string) ([]Term, error) { return Text{}.Terms(text) }

// Terms is [ParseTerms].
func (x Text) Terms(text string) ([]Term, error) {
	var terms []Term
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return terms, nil
		}
		t, rest, err := x.cutTerm(text)
		if err != nil {
			return nil, err
		}
		terms = append(terms, t)
		text = rest
	}
}

// ParsePattern parses a triple pattern in text form: a subject, a predicate, an object and,
// optionally, a graph. "?", "?name" and "*" match any term. As a graph, "default" is the default
// graph. A "." may end the pattern. Empty text matches all.
func ParsePattern(text string) (Pattern, error) { return Text{}.Pattern(text) }

// Pattern is [ParsePattern].
func (x Text) Pattern(text string) (Pattern, error) {
	p, _, err := x.namedPattern(text)
	return p, err
}

// ParseNamedPattern is ParsePattern that also returns the names of wildcards, without "?", in the
// order subject, predicate, object, graph. The name is "" if the place has a term or no name.
func ParseNamedPattern(text string) (p Pattern, names [4]string, err error) {
	return Text{}.namedPattern(text)
}

func (x Text) namedPattern(text string) (p Pattern, names [4]string, err error) {
	// 1. Read up to four terms. A zero term is a wildcard.
	places := [...]*Term{&p.Subject, &p.Predicate, &p.Object, &p.Graph}
	text = strings.TrimRight(text, " \t\r\n")
	n := 0
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" || text == "." {
			break
		}
		if n == len(places) {
			return p, names, fmt.Errorf("%w: more than four terms in a pattern: %q", ErrBadTerm, clip(text))
		}
		word := text[:wordLen(text)]
		// Words with a special meaning come first, because they are no terms.
		switch {
		case word == "*" || word[0] == '?':
			names[n] = word[1:]
			text = text[len(word):]
		case word == "default" && n == Graph:
			p.DefaultGraph = true
			text = text[len(word):]
		case word == "a" && n == Predicate:
			p.Predicate = NewIRI(RDFType)
			text = text[len(word):]
		default:
			t, rest, err := x.cutTerm(text)
			if err != nil {
				return p, names, err
			}
			*places[n], text = t, rest
		}
		n++
	}
	// 2. A pattern must have at least three terms, unless it is empty.
	if n != 0 && n < 3 {
		return p, names, fmt.Errorf("%w: a pattern has three terms (and may have a graph), this has %d; write ? for any", ErrBadTerm, n)
	}
	return p, names, nil
}

// wordLen returns the length of the first word of non-empty text.
func wordLen(text string) int {
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		return i
	}
	return len(text)
}

// cutTerm parses the term at the start of text and returns the rest.
func (x Text) cutTerm(text string) (t Term, rest string, err error) {
	if text == "" {
		return t, "", fmt.Errorf("%w: expected a term, found nothing", ErrBadTerm)
	}
	if isTripleToken([]byte(text[:min(len(text), 2)])) {
		return x.cutTripleTerm(text)
	}
	switch text[0] {
	case '<', '_', '"':
		return x.cutNTTerm(text)
	}
	word, rest := x.cutWord(text)
	if iri, ok := x.expandPrefix(word); ok {
		t = NewIRI(iri)
		return t, rest, t.Check()
	}
	if datatype := bareDatatype(word); datatype != "" {
		t = NewTyped(word, datatype)
		return t, rest, t.Check()
	}
	return t, "", fmt.Errorf("%w: %q is neither <IRI>, _:label, \"literal\", <<( triple )>>, a number, true, false, nor a name with %s", ErrBadTerm, clip(word), x.prefixes())
}

// cutWord cuts a number or name from non-empty text. If the word ends with ".", the "." ends a
// statement, as in Turtle.
func (x Text) cutWord(text string) (word, rest string) {
	n := wordLen(text)
	if end := strings.Index(text[:n], ")>>"); x.inTriple && end >= 0 {
		return text[:end], text[end:]
	}
	if n > 1 && text[n-1] == '.' {
		n--
	}
	return text[:n], text[n:]
}

func (x Text) expandPrefix(word string) (string, bool) {
	for _, p := range textPrefixes {
		if strings.HasPrefix(word, p[0]) && len(word) > len(p[0]) {
			return p[1] + word[len(p[0]):], true
		}
	}
	name, local, ok := strings.Cut(word, ":")
	if !ok || x.Prefix == nil || strings.HasPrefix(local, "//") {
		return "", false
	}
	iri, ok := x.Prefix(name)
	return iri + local, ok
}

// prefixes describes the valid prefixes for messages.
func (x Text) prefixes() string {
	if x.Prefix == nil {
		return "the prefix xsd, rdf or rdfs"
	}
	return "a prefix of the store"
}

// bareDatatype returns the datatype of an unquoted literal, or "" for other words.
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

// cutNTTerm parses a term that begins with '<', '_' or '"', and returns the rest.
func (x Text) cutNTTerm(text string) (Term, string, error) {
	fail := func(err *tokenError) (Term, string, error) {
		return Term{}, "", fmt.Errorf("%w: at byte %d of %q: %s", ErrBadTerm, err.at, clip(text), err.msg)
	}
	// 1. A term must be on one line. Only the term's own bytes may be searched for a line end, because
	// the text may have many terms.
	line := bytesOf(text)
	if end, err := scanToken(line, 0); err != nil || bytes.ContainsAny(line[:end], "\r\n") {
		if n := bytes.IndexAny(line, "\r\n"); n >= 0 {
			line = line[:n]
		}
	}
	// 2. A literal with a prefixed datatype, which N-Triples lacks.
	if suffix := prefixedDatatype(line); suffix > 0 {
		lexical, _, terr := decodeString(line[1:suffix-len(`"^^`)], nil)
		if terr != nil {
			return fail(terr)
		}
		word, rest := x.cutWord(text[suffix:])
		datatype, ok := x.expandPrefix(word)
		if !ok {
			return fail(tokenErrorf(suffix, "expected <datatype IRI> or a name with %s after ^^", x.prefixes()))
		}
		t := NewTyped(lexical, datatype).Clone()
		return t, rest, t.Check()
	}
	// 3. All other terms are tokens of N-Triples.
	end, terr := scanToken(line, 0)
	if terr != nil {
		return fail(terr)
	}
	if end < len(line) && !x.inTriple && !strings.ContainsRune(" \t.", rune(line[end])) {
		return fail(tokenErrorf(end, "expected white space after a term%s", found(line, end)))
	}
	t, _, terr := decodeToken(line[:end:end], nil, false)
	if terr != nil {
		return fail(terr)
	}
	return t, text[end:], t.Check()
}

// prefixedDatatype returns the index after the ^^ of a literal at the start of line, if its
// datatype is not <IRI>. It returns 0 for all other terms.
func prefixedDatatype(line []byte) int {
	if line[0] != '"' {
		return 0
	}
	end := closingQuote(line, 1)
	if end < 0 || !bytes.HasPrefix(line[end+1:], []byte("^^")) {
		return 0
	}
	if suffix := end + len(`"^^`); suffix < len(line) && line[suffix] != '<' {
		return suffix
	}
	return 0
}

// ParseStarts parses the beginning of a term: <http://ex/ (no closing bracket), "Mü (plain
// strings), "Mü"@de (strings of that language), _:b, or <<( <http://ex/s> <http://ex/p> "Mü (triple
// terms; what is missing at the end matches anything).
func ParseStarts(text string) (Starts, error) { return Text{}.Starts(text) }

// Starts is [ParseStarts]. With a prefix it may be ex:a, which is the beginning of an IRI.
func (x Text) Starts(text string) (Starts, error) {
	// 1. A prefixed name begins an IRI.
	if name, rest, ok := strings.Cut(text, ":"); ok && name != "_" && !strings.ContainsAny(name, "<\"") && x.Prefix != nil {
		if iri, ok := x.Prefix(name); ok {
			return x.Starts("<" + iri + rest)
		}
	}
	// 2. All others begin as terms of N-Triples.
	switch {
	case strings.HasPrefix(text, "<<"):
		return x.startsTriple(text)
	case strings.HasPrefix(text, "<"):
		iri := strings.TrimSuffix(text[1:], ">")
		if !utf8.ValidString(iri) {
			return Starts{}, fmt.Errorf("%w: starts: invalid UTF-8", ErrBadTerm)
		}
		for _, r := range iri {
			if r < utf8.RuneSelf && asciiClass[r]&classIRI == 0 {
				return Starts{}, fmt.Errorf("%w: starts: character %q is not allowed in an IRI", ErrBadTerm, r)
			}
		}
		return Starts{Kind: IRI, Text: iri}, nil
	case strings.HasPrefix(text, "_:"):
		label := text[len("_:"):]
		if scanBlankLabel(label) != len(strings.TrimRight(label, ".")) {
			return Starts{}, fmt.Errorf("%w: starts: %q does not begin a blank node label", ErrBadTerm, clip(label))
		}
		return Starts{Kind: Blank, Text: label}, nil
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
			if rest[0] != '@' || scanLangTag(rest[1:]) != len(rest)-1 || len(rest) == 1 {
				return Starts{}, fmt.Errorf("%w: after the text of starts only a language tag may follow, not %q", ErrBadTerm, clip(rest))
			}
			lang = rest[1:]
		}
	}
	value, _, err := decodeString(inner, nil)
	if err != nil {
		return Starts{}, fmt.Errorf("%w: starts: at byte %d: %s", ErrBadTerm, err.at, err.msg)
	}
	return Starts{Kind: Literal, Text: strings.Clone(value), Lang: foldTag(lang)}, nil
}

// SyntaxError is an error in a document with its place.
type SyntaxError struct {
	Source string // the document's name; "" if it has none
	Line   int    // from 1; lines end at LF, CR LF or a bare CR
	Column int    // from 1, in code points (bytes if the text is not UTF-8)
	Offset int64  // bytes before the place, from the document's start
	Msg    string // the reason and, if known, the expected text
}

// Error returns "source:line:column: message".
func (e *SyntaxError) Error() string {
	if e.Source == "" {
		return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Source, e.Line, e.Column, e.Msg)
}
