// Tokens of N-Triples.

package triple

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// tokenError is an error in a statement. Its byte offset is from the start of the caller's text.
type tokenError struct {
	at  int
	msg string
}

func (e *tokenError) Error() string { return e.msg }

func tokenErrorf(at int, format string, args ...any) *tokenError {
	return &tokenError{at, fmt.Sprintf(format, args...)}
}

// RawStatement is one statement of N-Triples or N-Quads: its tokens by position, as in the text and
// not yet checked inside. The graph's token is nil if the graph is missing. Tokens alias the text.
type RawStatement struct {
	Tokens [4][]byte
	at     [4]int // start of each token in the block
	// comment is the text after '.', from '#' on; empty if there is none.
	comment   []byte
	commentAt int // start of the comment in the block
}

// Len returns the total length of the tokens in bytes.
func (st *RawStatement) Len() (n int) {
	for _, token := range st.Tokens {
		n += len(token)
	}
	return n
}

func (st *RawStatement) set(position int, b []byte, start, end int) {
	st.Tokens[position] = b[start:end:end]
	st.at[position] = start
}

// skipSpace returns the index of the first byte of b from i on that is neither space nor tab.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// isLineEnd reports whether c ends a line: EOL is [\r\n]+.
func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }

// scanStatement finds the tokens of the statement that begins at line[i]; that byte must not be a
// space. line must extend to the line's end. Tokens are found only by their delimiters; see
// decodeToken. After an error st holds the tokens before it.
func scanStatement(line []byte, i int, quads bool, st *RawStatement) *tokenError {
	// 1. The three terms. A position restricts the kinds of its term.
	st.Tokens = [4][]byte{}
	for position := Subject; position <= Object; position++ {
		start := skipSpace(line, i)
		end, err := scanToken(line, start)
		if err != nil {
			return err
		}
		if what := misplaced(line[start:], position); what != "" {
			return tokenErrorf(start, "%s", what)
		}
		st.set(position, line, start, end)
		i = end
	}
	// 2. In N-Quads a graph name may follow.
	i = skipSpace(line, i)
	if quads && i < len(line) && (line[i] == '<' || line[i] == '_') && !isTripleToken(line[i:]) {
		end, err := scanToken(line, i)
		if err != nil {
			return err
		}
		st.set(Graph, line, i, end)
		i = skipSpace(line, end)
	}
	return scanStatementEnd(line, i, quads, st)
}

// misplaced returns the reason if a token of this kind cannot be at a position, or "".
func misplaced(token []byte, position int) string {
	what := ""
	switch {
	case position == Object:
		return ""
	case token[0] == '"':
		what = "a literal"
	case isTripleToken(token):
		what = "a triple term"
	case token[0] == '_' && position == Predicate:
		what = "a blank node"
	default:
		return ""
	}
	return what + " cannot be a " + positionNames[position]
}

// scanStatementEnd scans '.' and an optional comment up to the line's end.
func scanStatementEnd(line []byte, i int, quads bool, st *RawStatement) *tokenError {
	switch {
	case i < len(line) && line[i] == '.':
	case i < len(line) && !quads && (line[i] == '<' || line[i] == '_'):
		return tokenErrorf(i, "expected '.' after the object; a fourth term (a graph name) needs N-Quads")
	case i < len(line) && quads && line[i] == '"':
		return tokenErrorf(i, "a literal cannot be a graph name")
	case i < len(line) && quads && isTripleToken(line[i:]):
		return tokenErrorf(i, "a triple term cannot be a graph name")
	default:
		return tokenErrorf(i, "expected '.' at the end of the statement%s", found(line, i))
	}
	i = skipSpace(line, i+1)
	if i < len(line) && line[i] != '#' {
		return tokenErrorf(i, "expected the line's end after '.'%s", found(line, i))
	}
	st.comment, st.commentAt = line[i:], i
	return nil
}

// scanVersion scans the announcement of a version at line[i:], as VERSION "1.2" (RDF 1.2 N-Triples,
// versionDirective). Any version is accepted, because each statement is checked by itself.
func scanVersion(line []byte, i int) *tokenError {
	const directive = "VERSION"
	if !bytes.HasPrefix(line[i:], []byte(directive)) {
		_, err := scanToken(line, i)
		return err
	}
	i = skipSpace(line, i+len(directive))
	end := 0
	if i < len(line) && line[i] == '"' {
		end = closingQuote(line, i+1) + 1
	}
	if end == 0 {
		return tokenErrorf(i, "expected a version in quotes after VERSION (\"1.2\")%s", found(line, i))
	}
	if i = skipSpace(line, end); i < len(line) && line[i] != '#' {
		return tokenErrorf(i, "expected the line's end after VERSION%s", found(line, i))
	}
	return nil
}

// found describes line[i] for the end of a message.
func found(line []byte, i int) string {
	if i >= len(line) {
		return ", found the line's end"
	}
	r, size := utf8.DecodeRune(line[i:])
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf(", found the byte 0x%02X, which is not UTF-8", line[i])
	}
	return fmt.Sprintf(", found %q", r)
}

// scanToken returns the index after the token at b[i]; b must end where the line does. It searches
// only for the token's delimiter.
func scanToken(b []byte, i int) (end int, err *tokenError) {
	if i == len(b) {
		return i, tokenErrorf(i, "expected a term (<IRI>, _:label, \"literal\" or <<( triple )>>)%s", found(b, i))
	}
	switch b[i] {
	case '<':
		if i+1 < len(b) && b[i+1] == '<' {
			return scanTripleToken(b, i)
		}
		return scanIRIToken(b, i)
	case '_':
		if i+1 == len(b) || b[i+1] != ':' {
			return i, tokenErrorf(i, "expected ':' after '_' of a blank node")
		}
		n := scanBlankLabel(view(b[i+2:]))
		if n == 0 {
			return i, tokenErrorf(i+2, "expected a blank node label after '_:'%s", found(b, i+2))
		}
		return i + 2 + n, nil
	case '"':
		return scanLiteralToken(b, i)
	}
	return i, tokenErrorf(i, "expected a term (<IRI>, _:label, \"literal\" or <<( triple )>>)%s", found(b, i))
}

func scanIRIToken(b []byte, i int) (end int, err *tokenError) {
	if n := bytes.IndexByte(b[i:], '>'); n >= 0 {
		return i + n + 1, nil
	}
	return i, tokenErrorf(i, "this IRI has no closing '>' on its line")
}

func scanLiteralToken(b []byte, i int) (end int, err *tokenError) {
	j := closingQuote(b, i+1)
	if j < 0 {
		return i, tokenErrorf(i, "this literal has no closing '\"' on its line (a line break in a literal is written \\n)")
	}
	j++
	// White space may be around '^^' and before a language tag, because those are tokens of the grammar.
	suffix := skipSpace(b, j)
	if suffix == len(b) {
		return j, nil
	}
	switch b[suffix] {
	case '@':
		n := scanLangTag(view(b[suffix+1:]))
		if n == 0 {
			return i, tokenErrorf(suffix+1, "expected a language tag after '@'%s", found(b, suffix+1))
		}
		return suffix + 1 + n, nil
	case '^':
		if suffix+1 == len(b) || b[suffix+1] != '^' {
			return i, tokenErrorf(suffix, "expected ^^<datatype IRI> after the literal")
		}
		iri := skipSpace(b, suffix+len("^^"))
		if iri == len(b) || b[iri] != '<' {
			return i, tokenErrorf(suffix, "expected ^^<datatype IRI> after the literal")
		}
		return scanIRIToken(b, iri)
	}
	return j, nil
}

// closingQuote returns the index of the first unescaped '"' in b from i on, or -1 if there is none.
// i must not be inside an escape.
func closingQuote(b []byte, i int) int {
	for from := i; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		quote := from + n
		// An odd number of backslashes before the quote escapes it.
		run := quote
		for run > from && b[run-1] == '\\' {
			run--
		}
		if (quote-run)%2 == 0 {
			return quote
		}
		from = quote + 1
	}
}

// decodeToken checks a token of scanToken and returns its term. The term's strings alias the token,
// or scratch if the token has escapes; the returned scratch may have grown. Offsets of errors are
// from the token's start.
func decodeToken(token, scratch []byte, stored bool) (Term, []byte, *tokenError) {
	switch token[0] {
	case '<':
		if token[1] == '<' {
			return decodeTripleToken(token, scratch, stored)
		}
		iri, scratch, err := decodeIRI(token, scratch)
		return Term{kind: IRI, value: iri}, scratch, err
	case '_':
		return Term{kind: Blank, value: view(token[2:])}, scratch, nil
	}
	return decodeLiteral(token, scratch, stored)
}

// decodeIRI decodes <...>.
func decodeIRI(token, scratch []byte) (string, []byte, *tokenError) {
	inner := token[1 : len(token)-1]
	ascii := true
	for i, c := range inner {
		if c >= utf8.RuneSelf {
			ascii = false
		} else if asciiClass[c]&classIRI == 0 {
			if c == '\\' {
				return decodeEscapedIRI(inner, scratch)
			}
			return "", scratch, badIRIChar(inner, i)
		}
	}
	if !ascii && !utf8.Valid(inner) {
		return "", scratch, invalidUTF8(inner, 1)
	}
	if err := checkScheme(view(inner)); err != nil {
		return "", scratch, tokenErrorf(0, "%v", err)
	}
	return view(inner), scratch, nil
}

func badIRIChar(inner []byte, i int) *tokenError {
	return tokenErrorf(1+i, "character %q is not allowed in an IRI", rune(inner[i]))
}

func invalidUTF8(b []byte, shift int) *tokenError {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return tokenErrorf(shift+i, "invalid UTF-8 (byte 0x%02X)", b[i])
		}
		i += size
	}
	return tokenErrorf(shift, "invalid UTF-8")
}

func decodeEscapedIRI(inner, scratch []byte) (string, []byte, *tokenError) {
	start := len(scratch)
	// 1. Copy the bytes and decode the escapes. A decoded character must be allowed in an IRI too.
	for i := 0; i < len(inner); {
		c := inner[i]
		if c == '\\' {
			r, size := UnicodeEscape(inner[i:])
			if size == 0 {
				return "", scratch, tokenErrorf(1+i, "bad escape in an IRI: expected %s", unicodeEscape)
			}
			if r < utf8.RuneSelf && asciiClass[r]&classIRI == 0 {
				return "", scratch, tokenErrorf(1+i, "character %q is not allowed in an IRI", r)
			}
			scratch = utf8.AppendRune(scratch, r)
			i += size
			continue
		}
		if c < utf8.RuneSelf && asciiClass[c]&classIRI == 0 {
			return "", scratch, badIRIChar(inner, i)
		}
		scratch = append(scratch, c)
		i++
	}
	// 2. Check UTF-8 and the scheme of the result.
	iri := scratch[start:]
	if !utf8.Valid(iri) {
		return "", scratch, invalidUTF8(inner, 1)
	}
	if err := checkScheme(view(iri)); err != nil {
		return "", scratch, tokenErrorf(0, "%v", err)
	}
	return view(iri), scratch, nil
}

// UnicodeEscape decodes the UCHAR, \uXXXX or \UXXXXXXXX, at the start of text. size is 0 if there
// is none or if it is not a Unicode scalar value.
func UnicodeEscape[T string | []byte](text T) (r rune, size int) {
	// 1. The letter determines the number of digits.
	digits := 4
	if len(text) > 1 && text[1] == 'U' {
		digits = 8
	} else if len(text) < 2 || text[1] != 'u' {
		return 0, 0
	}
	if len(text) < 2+digits {
		return 0, 0
	}
	for _, c := range []byte(text[2 : 2+digits]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, 0
		}
		// 2. Stop early: r must not overflow, and a larger value is not a character.
		if r >= 1<<24 {
			return 0, 0
		}
		r = r<<4 | rune(c)
	}
	// 3. A surrogate is not a character.
	if !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, 2 + digits
}

// decodeLiteral decodes "..." with its language tag or datatype. If stored is set, it takes all tags that rows of earlier
// releases have, and keeps them as they are.
func decodeLiteral(token, scratch []byte, stored bool) (Term, []byte, *tokenError) {
	// 1. The string. scanToken has found its end already.
	end := closingQuote(token, 1)
	value, scratch, err := decodeString(token[1:end], scratch)
	if err != nil {
		return Term{}, scratch, err
	}
	// 2. The suffix. rdf:langString must have a language tag.
	at := skipSpace(token, end+1)
	switch suffix := token[at:]; {
	case len(suffix) == 0:
		return NewString(value), scratch, nil
	case suffix[0] == '@':
		if err := checkDirection(view(suffix[1:])); err != nil {
			return Term{}, scratch, tokenErrorf(at, "%v", err)
		}
		if stored {
			return writtenLang(value, view(suffix[1:])), scratch, nil
		}
		if err := checkSubtags(view(suffix[1:])); err != nil {
			return Term{}, scratch, tokenErrorf(at, "%v", err)
		}
		return NewLang(value, view(suffix[1:])), scratch, nil
	default:
		at = skipSpace(token, at+len("^^"))
		datatype, scratch, err := decodeIRI(token[at:], scratch)
		if err != nil {
			err.at += at
			return Term{}, scratch, err
		}
		if needsLang(datatype) {
			return Term{}, scratch, tokenErrorf(at, "a literal of datatype rdf:%s needs a language tag", datatype[len(RDF):])
		}
		if known, ok := knownDatatype(datatype); ok {
			datatype = known
		}
		return NewTyped(value, datatype), scratch, nil
	}
}

// decodeString decodes the escapes of a literal's inside.
func decodeString(inner, scratch []byte) (string, []byte, *tokenError) {
	if !utf8.Valid(inner) {
		return "", scratch, invalidUTF8(inner, 1)
	}
	// 1. Most literals have no escapes and need no copy.
	i := bytes.IndexByte(inner, '\\')
	if i < 0 {
		return view(inner), scratch, nil
	}
	start := len(scratch)
	at := 0
	// 2. Copy the bytes up to each backslash, then decode the escape.
	for i >= 0 {
		scratch = append(scratch, inner[at:at+i]...)
		at += i
		var c byte
		if at+1 < len(inner) {
			c = StringEscape(inner[at+1])
		}
		if c != 0 {
			scratch = append(scratch, c)
			at += 2
		} else {
			r, size := UnicodeEscape(inner[at:])
			if size == 0 {
				return "", scratch, tokenErrorf(1+at, `bad escape in a literal: expected \t \b \n \r \f \" \' \\, %s`, unicodeEscape)
			}
			scratch = utf8.AppendRune(scratch, r)
			at += size
		}
		i = bytes.IndexByte(inner[at:], '\\')
	}
	// The result aliases scratch, because several strings of a statement share it.
	scratch = append(scratch, inner[at:]...)
	return view(scratch[start:]), scratch, nil
}

// StringEscape returns the character of a backslash and c in a string of N-Triples, Turtle and
// SPARQL (ECHAR). It returns 0 if there is no such escape.
func StringEscape(c byte) byte {
	switch c {
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	case '"', '\'', '\\':
		return c
	}
	return 0
}

// unicodeEscape describes \u and \U in messages.
const unicodeEscape = `\uXXXX or \UXXXXXXXX that names a Unicode character (surrogates are none, not even in pairs)`
