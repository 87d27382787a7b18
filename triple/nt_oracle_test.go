// A slow scanner of N-Triples, for comparison.

package triple

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// event is a result of a scanner: a triple, or an error with the rejected text.
type event struct {
	text         string // the triple as N-Quads, or the rejected text
	msg          string // "" for a triple
	line, column int
	offset       int64
}

// scanAll reads a whole document and continues after errors. The returned error is the reader's.
func scanAll(r io.Reader, opts ScanOptions) (events []event, err error) {
	sc := NewScanner(r, opts)
	for {
		for sc.Scan() {
			events = append(events, event{text: sc.Triple().String()})
		}
		if sc.Err() == nil {
			return events, nil
		}
		syntax, _ := sc.Err().(*SyntaxError)
		rejected, ok := sc.Recover()
		if !ok {
			return events, sc.Err()
		}
		events = append(events, event{string(rejected), syntax.Msg, syntax.Line, syntax.Column, syntax.Offset})
	}
}

// scanBlock reads a document as one block.
func scanBlock(doc []byte, opts ScanOptions) (events []event) {
	b := NewBlock(opts.Source, doc, opts.Quads, opts.MaxLine)
	var st RawStatement
	var t Triple
	var scratch []byte
	for {
		var more bool
		var err *SyntaxError
		more, scratch, err = b.nextTriple(&st, &t, new([]ApplicationData), scratch[:0])
		switch {
		case err != nil:
			events = append(events, event{string(b.Rejected()), err.Msg, err.Line, err.Column, err.Offset})
		case !more:
			return events
		default:
			events = append(events, event{text: t.String()})
		}
	}
}

// checkTriple checks that a scanned triple is well-formed and survives a round trip.
func checkTriple(t *testing.T, line string) {
	t.Helper()
	sc := NewScanner(strings.NewReader(line+"\n"), ScanOptions{Quads: true})
	if !sc.Scan() {
		t.Fatalf("%q does not come back: %v", line, sc.Err())
	}
	got := sc.Triple()
	if err := got.Check(); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if again := got.String(); again != line {
		t.Fatalf("%q comes back as %q", line, again)
	}
}

// The oracle of the grammar: RDF 1.1 N-Triples and N-Quads as one regular
// expression for a line, with what it cannot say in code. (Labels have no ':',
// as the test suite has it.)
var (
	pnCharsBase = `A-Za-z\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}\x{200C}-\x{200D}\x{2070}-\x{218F}\x{2C00}-\x{2FEF}\x{3001}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFFD}\x{10000}-\x{EFFFF}`
	pnChars     = pnCharsBase + `_\-0-9\x{B7}\x{300}-\x{36F}\x{203F}-\x{2040}`
	uchar       = `\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}`
	iriRef      = `<(?:[^\x{00}-\x{20}<>"{}|^` + "`" + `\\]|` + uchar + `)*>`
	blankNode   = `_:[` + pnCharsBase + `_0-9](?:[` + pnChars + `.]*[` + pnChars + `])?`
	literalForm = `"(?:[^\x{22}\x{5C}\x{0A}\x{0D}]|\\[tbnrf"'\\]|` + uchar + `)*"(?:[ \t]*\^\^[ \t]*` + iriRef + `|[ \t]*@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*(?:--[a-zA-Z]+)?)?`
	space       = `[ \t]*`
	// Triple terms of three levels; deeper ones are not in the seeds.
	tripleTerm = nestTripleTerm(nestTripleTerm(nestTripleTerm(``)))

	oracleStatement = regexp.MustCompile(`^` + space + `(` + iriRef + `|` + blankNode + `)` + space + `(` + iriRef + `)` + space +
		`(` + iriRef + `|` + blankNode + `|` + literalForm + tripleTerm + `)` + space + `(?:(` + iriRef + `|` + blankNode + `)` + space + `)?\.` + space + `(?:#.*)?$`)
	oracleBlankLine = regexp.MustCompile(`^` + space + `(VERSION` + space + `"(?:[^"\\]|\\.)*"` + space + `)?(#.*)?$`)
	oracleToken     = regexp.MustCompile(`<<\(|` + iriRef + `|` + blankNode + `|` + literalForm)
	oracleEscape    = regexp.MustCompile(`\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\([^uU])`)
	oracleAbsolute  = regexp.MustCompile(`^<[A-Za-z][A-Za-z0-9+.\-]*:[^\x{00}-\x{20}<>"{}|^` + "`" + `\\]*>$`)
)

// nestTripleTerm returns the grammar of a triple term whose object may also be inner.
func nestTripleTerm(inner string) string {
	return `|<<\(` + space + `(?:` + iriRef + `|` + blankNode + `)` + space + iriRef + space + `(?:` + iriRef + `|` + blankNode + `|` + literalForm + inner + `)` + space + `\)>>`
}

// oracleUnescape decodes escapes; ok is false if one is not a character.
func oracleUnescape(s string) (_ string, ok bool) {
	ok = true
	s = oracleEscape.ReplaceAllStringFunc(s, func(e string) string {
		if e[1] != 'u' && e[1] != 'U' {
			return map[byte]string{'t': "\t", 'b': "\b", 'n': "\n", 'r': "\r", 'f': "\f", '"': `"`, '\'': "'", '\\': `\`}[e[1]]
		}
		n, _ := strconv.ParseUint(e[2:], 16, 32)
		if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
			ok = false
			return ""
		}
		return string(rune(n))
	})
	return s, ok
}

// oracleGoodLine reports whether a line is a statement of the grammar.
func oracleGoodLine(line string, quads bool) bool {
	// Comments may hold anything.
	m := oracleStatement.FindStringSubmatchIndex(line)
	if m == nil || !quads && m[8] >= 0 {
		return false
	}
	for group := 1; group <= 4; group++ {
		if m[2*group] < 0 {
			continue
		}
		for _, token := range oracleToken.FindAllString(line[m[2*group]:m[2*group+1]], -1) {
			if !oracleGoodToken(token) {
				return false
			}
		}
	}
	return true
}

// oracleGoodToken checks what the grammar alone cannot.
func oracleGoodToken(token string) bool {
	if !utf8.ValidString(token) {
		return false
	}
	if _, ok := oracleUnescape(token); !ok {
		return false
	}
	iri := token
	if token[0] == '"' { // neither tags nor IRIs hold a quote
		iri = strings.TrimLeft(token[1+strings.LastIndexByte(token, '"'):], "^ \t")
		if _, direction, ok := strings.Cut(iri, "--"); ok && iri[0] == '@' {
			return direction == "ltr" || direction == "rtl"
		}
	}
	if !strings.HasPrefix(iri, "<") || iri == "<<(" {
		return true
	}
	plain, _ := oracleUnescape(iri)
	return oracleAbsolute.MatchString(plain) &&
		(token[0] != '"' || plain != "<"+RDFLangString+">" && plain != "<"+RDFDirLangString+">")
}

// oracleScan finds the statements and the rejected lines with their text. In the events of rejected
// statements only text and line are set.
func oracleScan(doc string, quads bool, maxLine int) (events []event) {
	doc = strings.TrimPrefix(doc, "\uFEFF")
	type line struct{ text, whole string }
	var lines []line
	for doc != "" {
		i := strings.IndexAny(doc, "\r\n")
		switch {
		case i < 0:
			lines = append(lines, line{doc, doc})
			doc = ""
		case strings.HasPrefix(doc[i:], "\r\n"):
			lines = append(lines, line{doc[:i], doc[:i+2]})
			doc = doc[i+2:]
		default:
			lines = append(lines, line{doc[:i], doc[:i+1]})
			doc = doc[i+1:]
		}
	}
	for i := 0; i < len(lines); i++ {
		switch tooLong := maxLine > 0 && len(lines[i].text) > maxLine; {
		case !tooLong && oracleBlankLine.MatchString(strings.ToValidUTF8(lines[i].text, "?")):
		case !tooLong && oracleGoodLine(lines[i].text, quads):
			events = append(events, event{})
		default:
			e := event{text: lines[i].whole, msg: "rejected", line: i + 1}
			for i+1 < len(lines) && !strings.HasPrefix(lines[i+1].whole, "<") && !strings.HasPrefix(lines[i+1].whole, "_:") && !strings.HasPrefix(lines[i+1].whole, "#") {
				i++
				e.text += lines[i].whole
			}
			if maxLine > 0 && len(e.text) > maxLine {
				e.text = e.text[:min(maxLine, 64<<10)]
			}
			e.text = strings.TrimRight(e.text, "\r\n")
			events = append(events, e)
		}
	}
	return events
}

// checkScan checks all known properties of a document's events.
func checkScan(t *testing.T, doc []byte, quads bool, maxLine, blockBytes int) {
	t.Helper()
	opts := ScanOptions{Source: "doc", Quads: quads, MaxLine: maxLine}
	events := scanBlock(doc, opts)
	for _, size := range []int{blockBytes, 1, 16, DefaultBlockBytes} {
		opts.BlockBytes = size
		split, err := scanAll(&stutter{data: doc, step: 1 + blockBytes%7}, opts)
		if err != nil {
			t.Fatal(err)
		}
		if d := diffEvents(split, events); d != "" {
			t.Fatalf("blocks of %d bytes (max line %d): %s\n%q", size, maxLine, d, doc)
		}
	}
	want := oracleScan(string(doc), quads, maxLine)
	for i := range max(len(events), len(want)) {
		if i >= len(events) || i >= len(want) || (events[i].msg == "") != (want[i].msg == "") {
			t.Fatalf("event %d: got %+v\nwant %+v\n%q", i, events[i:], want[i:], doc)
		}
		if e := events[i]; e.msg != "" {
			if e.line != want[i].line || e.text != want[i].text {
				t.Fatalf("rejected: got %+v\nwant %+v\n%q", e, want[i], doc)
			}
			before := doc[:e.offset]
			start := 1 + bytes.LastIndexAny(before, "\r\n")
			if e.line == 1 && bytes.HasPrefix(doc, byteOrderMark) {
				start = len(byteOrderMark)
			}
			if column := 1 + utf8.RuneCount(before[start:]); column != e.column {
				t.Fatalf("column %d, but the offset %d is in column %d\n%q", e.column, e.offset, column, doc)
			}
			continue
		}
		checkTriple(t, events[i].text)
	}
}

// diffEvents returns the first difference of got and want, or "" if there is none.
func diffEvents(got, want []event) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) {
			return fmt.Sprintf("%d events, want %d", len(got), len(want))
		}
		if got[i] != want[i] {
			return fmt.Sprintf("event %d: got %+v\nwant %+v", i, got[i], want[i])
		}
	}
	return ""
}

// stutter is a reader that returns few bytes at a time, nothing now and then, and
// err at its end.
type stutter struct {
	data []byte
	step int
	err  error
	turn int
}

func (r *stutter) Read(p []byte) (int, error) {
	r.turn++
	if r.turn%5 == 0 {
		return 0, nil
	}
	if len(r.data) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), r.step)], r.data)
	r.data = r.data[n:]
	if len(r.data) == 0 && r.err != nil {
		return n, r.err // bytes and an error at once
	}
	return n, nil
}
