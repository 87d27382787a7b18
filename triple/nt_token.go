package triple

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// tokenError is what is wrong in a statement, at a byte offset from where the
// caller's text begins.
type tokenError struct {
	at  int
	msg string
}

func (e *tokenError) Error() string { return e.msg }

func tokenErrorf(at int, format string, args ...any) *tokenError {
	return &tokenError{at, fmt.Sprintf(format, args...)}
}

// RawStatement is one statement of N-Triples or N-Quads: by position its tokens
// as they stand in the text, not yet checked inside; the graph's is nil where
// there is none. Tokens alias the text.
type RawStatement struct {
	Tokens [4][]byte
	at     [4]int // where each begins in the block
	// comment is what stands behind '.', from '#' on; empty where nothing does.
	comment   []byte
	commentAt int // where it begins in the block
}

// Len returns how long the tokens are together.
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

// skipSpace returns the index of the first byte of b from i on that is neither
// space nor tab.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}

// isLineEnd reports whether c ends a line: EOL is [\r\n]+.
func isLineEnd(c byte) bool { return c == '\n' || c == '\r' }

// scanStatement finds the tokens of the statement that begins at line[i], which
// is no space. line runs from anywhere before it to the line's end. Tokens are
// found by their delimiters only; see decodeToken. On an error st holds those
// before it.
func scanStatement(line []byte, i int, quads bool, st *RawStatement) *tokenError {
	st.Tokens = [4][]byte{}
	for position := Subject; position <= Object; position++ {
		start := skipSpace(line, i)
		end, err := scanToken(line, start)
		if err != nil {
			return err
		}
		if c := line[start]; c == '"' && position != Object || c == '_' && position == Predicate {
			return tokenErrorf(start, "%s", misplaced(position, c))
		}
		st.set(position, line, start, end)
		i = end
	}
	i = skipSpace(line, i)
	if quads && i < len(line) && (line[i] == '<' || line[i] == '_') {
		end, err := scanToken(line, i)
		if err != nil {
			return err
		}
		st.set(Graph, line, i, end)
		i = skipSpace(line, end)
	}
	return scanStatementEnd(line, i, quads, st)
}

func misplaced(position int, c byte) string {
	if position == Subject {
		return "a literal cannot be a subject"
	}
	if c == '_' {
		return "a blank node cannot be a predicate"
	}
	return "a literal cannot be a predicate"
}

// scanStatementEnd reads '.' and an optional comment to the line's end.
func scanStatementEnd(line []byte, i int, quads bool, st *RawStatement) *tokenError {
	switch {
	case i < len(line) && line[i] == '.':
	case i < len(line) && !quads && (line[i] == '<' || line[i] == '_'):
		return tokenErrorf(i, "expected '.' after the object; a fourth term (a graph name) needs N-Quads")
	case i < len(line) && quads && line[i] == '"':
		return tokenErrorf(i, "a literal cannot be a graph name")
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

// scanToken returns the index after the token that begins at b[i]; b ends where
// the line does. It looks only for the token's delimiter.
func scanToken(b []byte, i int) (end int, err *tokenError) {
	if i == len(b) {
		return i, tokenErrorf(i, "expected a term (<IRI>, _:label or \"literal\")%s", found(b, i))
	}
	switch b[i] {
	case '<':
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
	return i, tokenErrorf(i, "expected a term (<IRI>, _:label or \"literal\")%s", found(b, i))
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
	if j == len(b) {
		return j, nil
	}
	switch b[j] {
	case '@':
		n := scanLangTag(view(b[j+1:]))
		if n == 0 {
			return i, tokenErrorf(j+1, "expected a language tag after '@'%s", found(b, j+1))
		}
		return j + 1 + n, nil
	case '^':
		if j+2 >= len(b) || b[j+1] != '^' || b[j+2] != '<' {
			return i, tokenErrorf(j, "expected ^^<datatype IRI> after the literal")
		}
		return scanIRIToken(b, j+2)
	}
	return j, nil
}

// closingQuote returns the index of the first '"' in b from i on that is not
// escaped, -1 where there is none. Where i is, no escape has begun.
func closingQuote(b []byte, i int) int {
	for from := i; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		quote := from + n
		// An odd number of backslashes before it escapes it.
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

// decodeToken checks a token that scanToken found and returns its term. The
// term's strings alias the token, or scratch where the token has escapes;
// scratch comes back grown. Offsets of errors count from the token's start.
func decodeToken(token, scratch []byte) (Term, []byte, *tokenError) {
	switch token[0] {
	case '<':
		iri, scratch, err := decodeIRI(token, scratch)
		return Term{kind: IRI, value: iri}, scratch, err
	case '_':
		return Term{kind: Blank, value: view(token[2:])}, scratch, nil
	}
	return decodeLiteral(token, scratch)
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
	iri := scratch[start:]
	if !utf8.Valid(iri) {
		return "", scratch, invalidUTF8(inner, 1)
	}
	if err := checkScheme(view(iri)); err != nil {
		return "", scratch, tokenErrorf(0, "%v", err)
	}
	return view(iri), scratch, nil
}

// UnicodeEscape reads the UCHAR, \uXXXX or \UXXXXXXXX, at the start of text; size
// is 0 where there is none or it names no Unicode scalar value.
func UnicodeEscape[T string | []byte](text T) (r rune, size int) {
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
		if r >= 1<<24 {
			return 0, 0
		}
		r = r<<4 | rune(c)
	}
	if !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, 2 + digits
}

// decodeLiteral decodes "..." with its language tag or datatype.
func decodeLiteral(token, scratch []byte) (Term, []byte, *tokenError) {
	end := closingQuote(token, 1)
	value, scratch, err := decodeString(token[1:end], scratch)
	if err != nil {
		return Term{}, scratch, err
	}
	switch suffix := token[end+1:]; {
	case len(suffix) == 0:
		return NewString(value), scratch, nil
	case suffix[0] == '@':
		return NewLang(value, view(suffix[1:])), scratch, nil
	default:
		datatype, scratch, err := decodeIRI(suffix[2:], scratch)
		if err != nil {
			err.at += end + 3
			return Term{}, scratch, err
		}
		if datatype == RDFLangString {
			return Term{}, scratch, tokenErrorf(end+3, "a literal of datatype rdf:langString needs a language tag")
		}
		if known, ok := knownDatatype(datatype); ok {
			datatype = known
		}
		return NewTyped(value, datatype), scratch, nil
	}
}

// decodeString undoes the escapes of a literal's inside.
func decodeString(inner, scratch []byte) (string, []byte, *tokenError) {
	if !utf8.Valid(inner) {
		return "", scratch, invalidUTF8(inner, 1)
	}
	i := bytes.IndexByte(inner, '\\')
	if i < 0 {
		return view(inner), scratch, nil
	}
	start := len(scratch)
	at := 0
	for i >= 0 {
		scratch = append(scratch, inner[at:at+i]...)
		at += i
		if c := simpleEscape(inner[at:]); c != 0 {
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
	scratch = append(scratch, inner[at:]...)
	return view(scratch[start:]), scratch, nil
}

// simpleEscape returns the character of the two-character escape at the start of
// b, 0 where there is none.
func simpleEscape(b []byte) byte {
	if len(b) < 2 {
		return 0
	}
	switch c := b[1]; c {
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

// unicodeEscape is what messages say of \u and \U.
const unicodeEscape = `\uXXXX or \UXXXXXXXX that names a Unicode character (surrogates are none, not even in pairs)`
