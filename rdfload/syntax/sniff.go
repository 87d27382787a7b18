// The detection of a syntax from the first bytes of a document.

package syntax

import (
	"bytes"

	"github.com/trefoildb/trefoil/triple"
)

// SniffBytes is the number of a document's first bytes that [Sniff] should get.
const SniffBytes = 64 << 10

// Sniff guesses a document's syntax from its first bytes. It checks the first bytes after white
// space, a byte order mark, lines of '#' comment and lines of VERSION, which several syntaxes have:
//
//   - <?xml, <!, or a tag such as <rdf:RDF with xmlns in it, also '<' in UTF-16: RDF/XML
//   - a first line that is a triple in JSON: NDJSON
//   - { or [ and then a JSON string, brace or the matching bracket: JSON-LD
//   - a line that is an N-Quads statement: N-Quads, which includes N-Triples
//   - <, _:, @, [, (, { or a letter or ':' otherwise: TriG, which includes Turtle
//
// It returns false for anything else, and for a document without a statement. It also returns false
// if neither the first line nor its statement ends within head, unless whole is set: head must then be
// the whole document. A dump may have a first line of megabytes: it ends with annotations.
func Sniff(head []byte, whole bool) (Syntax, bool) {
	for _, wide := range []string{"\xff\xfe<\x00", "\xfe\xff\x00<", "<\x00", "\x00<\x00"} {
		if bytes.HasPrefix(head, []byte(wide)) {
			return RDFXML, true
		}
	}
	head = skipComments(bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF")))
	if len(head) == 0 {
		return 0, false
	}
	// XML comes first, because its '<' also starts an IRI.
	switch c := head[0]; {
	case looksLikeXML(head):
		return RDFXML, true
	case c == '{' || c == '[':
		if line, _, ends := bytes.Cut(head, []byte{'\n'}); c == '{' && (ends || whole) {
			if _, _, err := triple.ParseAnnotatedJSON(line); err == nil {
				return NDJSON, true
			}
		} else if bytes.HasPrefix(head, []byte(dumpedLine)) {
			return NDJSON, true
		}
		next := bytes.TrimLeft(head[1:], " \t\r\n")
		if len(next) > 0 && (next[0] == '"' || c == '[' && (next[0] == '{' || next[0] == '[')) {
			return JSONLD, true
		}
		return TriG, true
	case c == '<' || c == '_':
		// A first line that is a statement is N-Quads; it must be complete for that.
		line := head
		i := bytes.IndexAny(head, "\r\n")
		if i >= 0 {
			line = head[:i]
		}
		if triple.NewScanner(bytes.NewReader(line), triple.ScanOptions{Quads: true}).Scan() {
			return NQuads, true
		}
		return TriG, whole || i >= 0
	case c == '@' || c == '(' || c == ':' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return TriG, true
	}
	return 0, false
}

// dumpedLine is how trefoil begins a line of NDJSON.
const dumpedLine = `{"s":{"type":"`

// skipComments returns head from the first byte outside of white space, comments and lines of VERSION,
// or nil if there is none.
func skipComments(head []byte) []byte {
	for {
		head = bytes.TrimLeft(head, " \t\r\n")
		if len(head) == 0 || head[0] != '#' && !bytes.HasPrefix(head, []byte(`VERSION "`)) {
			return head
		}
		i := bytes.IndexAny(head, "\r\n")
		if i < 0 {
			return nil
		}
		head = head[i:]
	}
}

func looksLikeXML(head []byte) bool {
	if bytes.HasPrefix(head, []byte("<?xml")) || bytes.HasPrefix(head, []byte("<!")) {
		return true
	}
	end := bytes.IndexByte(head, '>')
	return head[0] == '<' && end > 0 && bytes.Contains(head[:end], []byte("xmlns"))
}
