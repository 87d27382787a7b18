// Tests of the scanner.

package triple

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func TestScannerGood(t *testing.T) {
	tests := []struct{ doc, want string }{
		{"", ""},
		{"\n\r\n \t\n# only a comment", ""},
		{"<a:s> <a:p> <a:o> .", "<a:s> <a:p> <a:o> .\n"},
		{"\uFEFF<a:s> <a:p> <a:o> .\n", "<a:s> <a:p> <a:o> .\n"},
		{"<a:s><a:p><a:o>.", "<a:s> <a:p> <a:o> .\n"},
		{"<a:s>\t<a:p>\t\t<a:o>\t.\t# <x:y> . \xFF\n<a:s> <a:p> \"o\"@en.", "<a:s> <a:p> <a:o> .\n<a:s> <a:p> \"o\"@en .\n"},
		{"  <a:s> <a:p> <a:o> .\r\n\t<a:s> <a:p> <a:o2> .\r<a:s> <a:p> <a:o3> .\n\r", "<a:s> <a:p> <a:o> .\n<a:s> <a:p> <a:o2> .\n<a:s> <a:p> <a:o3> .\n"},
		{"_:a.b <a:p> _:0.", "_:a.b <a:p> _:0 .\n"},
		{"_:a_b-c·d <a:p> _:é .", "_:a_b-c·d <a:p> _:é .\n"},
		{`<a:s> <a:p> "" .`, `<a:s> <a:p> "" .` + "\n"},
		{`<a:s> <a:p> "a\tb\b\n\r\f\"\'\\\u00e9\U0001F600" .`, `<a:s> <a:p> "a` + "\tb\b" + `\n\r` + "\f" + `\"'\\é😀" .` + "\n"},
		{`<a:s> <a:p> "\\" .`, `<a:s> <a:p> "\\" .` + "\n"},
		{`<a:s> <a:p> "\\\"" .`, `<a:s> <a:p> "\\\"" .` + "\n"},
		{"<a:s> <a:p> \"\x00\x01\t\x7F\" .", "<a:s> <a:p> \"\x00\x01\t\x7F\" .\n"},
		{`<a:s> <a:p> "\u0000" .`, "<a:s> <a:p> \"\x00\" .\n"},
		{`<a:\u00E9> <a:p> "o"^^<a:\U0001F600> .`, "<a:é> <a:p> \"o\"^^<a:😀> .\n"},
		{`<a:s> <a:p> "o"^^<` + XSDString + `> .`, "<a:s> <a:p> \"o\" .\n"},
		{`<a:s> <a:p> "01"^^<` + XSDInteger + `> .`, `<a:s> <a:p> "01"^^<` + XSDInteger + "> .\n"},
		{"<a:s> <a:p> \"o\" \t^^ <a:d> .\n<a:s> <a:p> \"o\" @en .", "<a:s> <a:p> \"o\"^^<a:d> .\n<a:s> <a:p> \"o\"@en .\n"},
		{`<a:s> <a:p> "o"@EN-gb-1996 .`, "<a:s> <a:p> \"o\"@en-gb-1996 .\n"},
		{"<a:\x7F> <a:p> <a:o> .", "<a:\x7F> <a:p> <a:o> .\n"},
	}
	for _, test := range tests {
		for _, quads := range []bool{false, true} {
			var got []byte
			sc := NewScanner(strings.NewReader(test.doc), ScanOptions{Quads: quads})
			for sc.Scan() {
				got = AppendNTriple(got, sc.Triple())
			}
			if err := sc.Err(); err != nil || string(got) != test.want {
				t.Errorf("%q: got %q, %v, want %q", test.doc, got, err, test.want)
			}
			checkScan(t, []byte(test.doc), quads, 0, 5)
		}
	}
	sc := NewScanner(strings.NewReader("<a:s> <a:p> \"o\" <a:g> .\n<a:s> <a:p> <a:o>_:g.\n<a:s> <a:p> <a:o> ."), ScanOptions{Quads: true})
	for _, want := range []string{`<a:s> <a:p> "o" <a:g> .`, "<a:s> <a:p> <a:o> _:g .", "<a:s> <a:p> <a:o> ."} {
		if !sc.Scan() || sc.Triple().String() != want {
			t.Errorf("got %s, %v, want %s", sc.Triple(), sc.Err(), want)
		}
	}
}

// TestScannerBad: each is one rejected statement at a column with a message.
func TestScannerBad(t *testing.T) {
	tests := []struct {
		doc    string
		quads  bool
		column int
		msg    string
	}{
		{`x`, false, 1, "expected a term"},
		{`<a:s> <a:p> <a:o>`, false, 18, "expected '.' at the end of the statement, found the line's end"},
		{`<a:s> <a:p> <a:o> ;`, false, 19, `expected '.' at the end of the statement, found ';'`},
		{`<a:s> <a:p> .`, false, 13, `expected a term (<IRI>, _:label, "literal" or <<( triple )>>), found '.'`},
		{`<a:s> <a:p>`, false, 12, "found the line's end"},
		{`<a:s> <a:p> <a:o> . .`, false, 21, "expected the line's end after '.', found '.'"},
		{`<a:s> <a:p> <a:o> . <a:s> <a:p> <a:o> .`, false, 21, "expected the line's end after '.'"},
		{`<a:s> <a:p> <a:o> <a:g> .`, false, 19, "needs N-Quads"},
		{`<a:s> <a:p> <a:o> "g" .`, true, 19, "a literal cannot be a graph name"},
		{`<a:s> <a:p> <a:o> <a:g> <a:h> .`, true, 25, "expected '.'"},
		{`"s" <a:p> <a:o> .`, false, 1, "a literal cannot be a subject"},
		{`<a:s> "p" <a:o> .`, false, 7, "a literal cannot be a predicate"},
		{`<a:s> _:p <a:o> .`, false, 7, "a blank node cannot be a predicate"},
		{`<s> <a:p> <a:o> .`, false, 1, "relative IRI (no scheme): <s>"},
		{`<> <a:p> <a:o> .`, false, 1, "empty IRI"},
		{`<:s> <a:p> <a:o> .`, false, 1, "relative IRI"},
		{`<1:s> <a:p> <a:o> .`, false, 1, "relative IRI"},
		{`<a:s <a:p> <a:o> .`, false, 5, "character ' ' is not allowed in an IRI"},
		{`<a:é|> <a:p> <a:o> .`, false, 5, "character '|' is not allowed in an IRI"},
		{`<a:s> <a:p> <a:{}> .`, false, 16, "character '{' is not allowed in an IRI"},
		{"<a:s> <a:p> <a:\x01> .", false, 16, `character '\x01' is not allowed in an IRI`},
		{`<a:\u0020> <a:p> <a:o> .`, false, 4, "character ' ' is not allowed in an IRI"},
		{`<a:\n> <a:p> <a:o> .`, false, 4, "bad escape in an IRI"},
		{`<a:\u12> <a:p> <a:o> .`, false, 4, "bad escape in an IRI"},
		{"<a:\xFFs> <a:p> <a:o> .", false, 4, "invalid UTF-8 (byte 0xFF)"},
		{`<a:s`, false, 1, "this IRI has no closing '>' on its line"},
		{"<a:s\n> <a:p> <a:o> .", false, 1, "this IRI has no closing '>' on its line"},
		{`<a:s> <a:p> "o .`, false, 13, `this literal has no closing '"' on its line`},
		{"<a:s> <a:p> \"o\nx\" .", false, 13, `this literal has no closing '"' on its line`},
		{"<a:s> <a:p> \"o\\\n\" .", false, 13, `this literal has no closing '"' on its line`},
		{"<a:s> <a:p> \"o\r\" .", false, 13, `this literal has no closing '"' on its line`},
		{`<a:s> <a:p> "o\" .`, false, 13, `this literal has no closing '"' on its line`},
		{`<a:s> <a:p> "é\x" .`, false, 15, "bad escape in a literal: expected"},
		{`<a:s> <a:p> "\u00g0" .`, false, 14, "bad escape in a literal"},
		{`<a:s> <a:p> "\uD800" .`, false, 14, "surrogates are none"},
		{`<a:s> <a:p> "\uD83D\uDE00" .`, false, 14, "not even in pairs"},
		{`<a:s> <a:p> "\U00110000" .`, false, 14, "bad escape in a literal"},
		{`<a:s> <a:p> "\UFFFFFFFF" .`, false, 14, "bad escape in a literal"},
		{"<a:s> <a:p> \"\xED\xA0\x80\" .", false, 14, "invalid UTF-8 (byte 0xED)"},
		{"<a:s> <a:p> \"é\xC3\" .", false, 15, "invalid UTF-8 (byte 0xC3)"},
		{"<a:s> <a:p> \"\xC0\x80\" .", false, 14, "invalid UTF-8"},
		{`<a:s> <a:p> 'o' .`, false, 13, `found '\''`},
		{`<a:s> <a:p> "o"@ .`, false, 17, "expected a language tag after '@', found ' '"},
		{`<a:s> <a:p> "o"@1 .`, false, 17, "expected a language tag"},
		{`<a:s> <a:p> "o"@en- .`, false, 19, "expected '.'"},
		{`<a:s> <a:p> "o"^<a:d> .`, false, 16, "expected ^^<datatype IRI> after the literal"},
		{`<a:s> <a:p> "o" ^ <a:d> .`, false, 17, "expected ^^<datatype IRI>"},
		{`<a:s> <a:p> "o" ^^ a:d .`, false, 17, "expected ^^<datatype IRI>"},
		{`<a:s> <a:p> "o" ^^ `, false, 17, "expected ^^<datatype IRI>"},
		{`<a:s> <a:p> "o" @ en .`, false, 18, "expected a language tag after '@'"},
		{`<a:s> <a:p> "o"^^xsd:int .`, false, 16, "expected ^^<datatype IRI>"},
		{`<a:s> <a:p> "o"^^<d> .`, false, 18, "relative IRI"},
		{`<a:s> <a:p> "o"^^<` + RDFLangString + `> .`, false, 18, "needs a language tag"},
		{`_ <a:p> <a:o> .`, false, 1, "expected ':' after '_'"},
		{`_: <a:p> <a:o> .`, false, 3, "expected a blank node label after '_:', found ' '"},
		{`_::a <a:p> <a:o> .`, false, 3, "expected a blank node label after '_:', found ':'"},
		{`_:a:b <a:p> <a:o> .`, false, 4, "expected a term (<IRI>, _:label, \"literal\" or <<( triple )>>), found ':'"},
		{`_:-a <a:p> <a:o> .`, false, 3, "expected a blank node label"},
		{`_:a. <a:p> <a:o> .`, false, 4, "expected a term"},
		{`@prefix a: <a:> .`, false, 1, "expected a term"},
		{"<a:s> <a:p> \xFF .", false, 13, "found the byte 0xFF, which is not UTF-8"},
		{"\x00<a:s> <a:p> <a:o> .", false, 1, `found '\x00'`},
		{"\v<a:s> <a:p> <a:o> .", false, 1, `found '\v'`},
	}
	for _, test := range tests {
		events := scanBlock([]byte(test.doc), ScanOptions{Quads: test.quads})
		if len(events) != 1 || events[0].line != 1 || events[0].column != test.column || !strings.Contains(events[0].msg, test.msg) {
			t.Errorf("%q: got %+v, want column %d: %s", test.doc, events, test.column, test.msg)
		}
		checkScan(t, []byte(test.doc), test.quads, 0, 3)
	}
}

// TestRejectedStatements: a rejected statement must end before the next line that starts with '<',
// '_:' or '#', and count once.
func TestRejectedStatements(t *testing.T) {
	const good = "<a:s> <a:p> <a:o> ."
	tests := []struct {
		name string
		doc  string
		want []event
	}{
		{"raw newlines in a literal", good + "\n<a:s> <a:p> \"one\ntwo\n  three\" .\n" + good + "\n", []event{
			{text: good}, {"<a:s> <a:p> \"one\ntwo\n  three\" .", "", 2, 13, 32}, {text: good}}},
		{"to a comment", "bad\nbad\n# <\n  " + good, []event{{"bad\nbad", "", 1, 1, 0}, {text: good}}},
		{"to a blank node", "bad\n_x\n _:x\n_:s <a:p> <a:o> .", []event{{"bad\n_x\n _:x", "", 1, 1, 0}, {text: "_:s <a:p> <a:o> ."}}},
		{"two in turn", "<a\n<b\nx\n<c\n", []event{{"<a", "", 1, 1, 0}, {"<b\nx", "", 2, 1, 3}, {"<c", "", 4, 1, 8}}},
		{"indented statements after it are its own", "x\n " + good + "\n" + good, []event{{"x\n " + good, "", 1, 1, 0}, {text: good}}},
		{"CR LF", good + "\r\n\r\nbad\r\n" + good + "\r\n<a:s> <x\r\n", []event{{text: good}, {"bad", "", 3, 1, 23}, {text: good}, {"<a:s> <x", "", 5, 7, 55}}},
		{"bare CR", good + "\r\rbad\r" + good + "\r<a:s> <x\r", []event{{text: good}, {"bad", "", 3, 1, 21}, {text: good}, {"<a:s> <x", "", 5, 7, 51}}},
		{"LF CR is two", "\n\rbad", []event{{"bad", "", 3, 1, 2}}},
		{"byte order mark", "\uFEFF\nbad", []event{{"bad", "", 2, 1, 4}}},
		{"byte order mark on its line", "\uFEFFé", []event{{"é", "", 1, 1, 3}}},
		{"to the end", "bad\n\n\n", []event{{"bad", "", 1, 1, 0}}},
	}
	for _, test := range tests {
		got := scanBlock([]byte(test.doc), ScanOptions{})
		for i := range got {
			got[i].msg = ""
		}
		if d := diffEvents(got, test.want); d != "" {
			t.Errorf("%s: %s", test.name, d)
		}
		checkScan(t, []byte(test.doc), false, 0, 4)
	}
}

// genDocument generates documents of good and bad lines with every kind of line
// end and beginning.
func genDocument() *rapid.Generator[[]byte] {
	line := rapid.SampledFrom([]string{
		"<a:s> <a:p> <a:o> .", "<a:s> <a:p> <a:o> .", " <a:s> <a:p> <a:o> .", "_:s <a:p> \"o\"@en .", "<a:s> <a:p> \"o\" <a:g> .", "# comment", " # comment", "", "  ",
		"<a:s> <a:p> \"raw", "text\" .", "<a:s", "> <a:p> <a:o> .", "bad", "_x", "_", "_:", "<", "\"", "\\", "\xFF", "é", "<a:é> <a:p> \"é\\u00e9\" .", "<a:s> <a:p> \"\\", "<a:\\u00e9> <a:p> \"\xFF\" .",
		"<a:s> <a:p> <a:" + strings.Repeat("o", 40) + "> ."})
	end := rapid.SampledFrom([]string{"\n", "\n", "\r\n", "\r", "\n\n", "\n\r", ""})
	return rapid.Custom(func(t *rapid.T) []byte {
		var doc []byte
		if rapid.IntRange(0, 9).Draw(t, "bom") == 0 {
			doc = append(doc, byteOrderMark...)
		}
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			doc = append(doc, line.Draw(t, "line")...)
			doc = append(doc, end.Draw(t, "end")...)
		}
		return doc
	})
}

// TestScannerBlocks: the result must not depend on the cuts of the document, and must match the
// grammar.
func TestScannerBlocks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		doc := genDocument().Draw(rt, "document")
		maxLine := rapid.SampledFrom([]int{0, 1, 10, 25, 40, 60}).Draw(rt, "max line")
		blockBytes := rapid.IntRange(1, 80).Draw(rt, "block bytes")
		checkScan(t, doc, rapid.Bool().Draw(rt, "quads"), maxLine, blockBytes)
	})
}

// TestBlockReaderCuts: cuts must not depend on the reads of the document, and blocks must join to
// it.
func TestBlockReaderCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := genDocument().Draw(t, "document")
		opts := ScanOptions{BlockBytes: rapid.IntRange(1, 80).Draw(t, "block bytes")}
		var cuts [2][]int64
		for i, r := range []io.Reader{bytes.NewReader(doc), iotest.OneByteReader(bytes.NewReader(doc))} {
			br := NewBlockReader(r, opts)
			var joined []byte
			for {
				b, err := br.Next()
				if err == io.EOF {
					break
				}
				if err != nil || len(b.Data) == 0 {
					t.Fatal(len(b.Data), err)
				}
				joined = append(joined, b.Data...)
				cuts[i] = append(cuts[i], b.Offset)
			}
			if !bytes.Equal(joined, bytes.TrimPrefix(doc, byteOrderMark)) {
				t.Fatalf("blocks join to %q, not %q", joined, doc)
			}
		}
		if fmt.Sprint(cuts[0]) != fmt.Sprint(cuts[1]) {
			t.Fatalf("cuts at %v and %v", cuts[0], cuts[1])
		}
	})
}

var errDisk = errors.New("disk on fire")

// TestScannerReadErrors: the reader's error must come after the whole lines before it. No triple
// may come from a half line, and nothing may look like the end.
func TestScannerReadErrors(t *testing.T) {
	const good = "<a:s> <a:p> <a:o> ."
	for _, readErr := range []error{errDisk, io.ErrUnexpectedEOF, fmt.Errorf("gzip: %w", io.EOF)} {
		for _, test := range []struct {
			doc     string
			triples int
		}{
			{"", 0}, {good[:10], 0}, {good, 0}, {good + "\n", 1}, {good + "\n" + good + "\n", 2}, {good + "\n" + good, 1}, {" " + good + "\n " + good + "\n " + good[:19], 2},
			{good + "\r\n" + good + " ", 1}, {strings.Repeat(good+"\n", 1000) + good, 1000},
		} {
			for _, step := range []int{1, 7, 1 << 20} {
				for _, blockBytes := range []int{1, 30, 1 << 20} {
					events, err := scanAll(&stutter{data: []byte(test.doc), step: step, err: readErr}, ScanOptions{BlockBytes: blockBytes})
					if err != readErr || len(events) != test.triples {
						t.Errorf("%.80q, step %d, blocks of %d: %d triples, %v, want %d and %v", test.doc, step, blockBytes, len(events), err, test.triples, readErr)
					}
				}
			}
		}
		// It must still be there at the next call.
		br := NewBlockReader(&stutter{step: 1, err: readErr}, ScanOptions{})
		for range 3 {
			if _, err := br.Next(); err != readErr {
				t.Error(err)
			}
		}
	}
	if _, err := scanAll(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(good+"\n"))), ScanOptions{}); err != iotest.ErrTimeout {
		t.Error(err)
	}
	if _, err := scanAll(silent{}, ScanOptions{}); err != io.ErrNoProgress {
		t.Error(err)
	}
}

// silent is a reader that returns neither bytes nor errors.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }
