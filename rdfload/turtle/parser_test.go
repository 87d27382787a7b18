// Tests of the parser.

package turtle

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trefoildb/trefoil/triple"
)

// parse returns the triples as N-Quads lines without their ends, and the errors.
func parse(r io.Reader, opts Options) (lines []string, errs []error) {
	for t, err := range Parse(r, opts) {
		if err != nil {
			errs = append(errs, err)
		} else {
			lines = append(lines, strings.TrimSuffix(t.String(), " ."))
		}
	}
	return lines, errs
}

// TestTerms: what the W3C suites leave open, and the rules of this package.
func TestTerms(t *testing.T) {
	for _, test := range []struct {
		name, doc string
		opts      Options
		want      []string
	}{
		{"empty", "", Options{}, nil},
		{"comment only", "# no line end", Options{}, nil},
		{"byte order mark", "\xEF\xBB\xBF<x:s> <x:p> 1 .", Options{}, []string{`<x:s> <x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer>`}},
		{"spaced literal", `<x:s> <x:p> "a" @en , "b" ^^ <x:t> .`, Options{}, []string{`<x:s> <x:p> "a"@en`, `<x:s> <x:p> "b"^^<x:t>`}},
		{"no space", `@prefix :<x:>.:s a:o,:p;:q.5,'''a'''.`, Options{}, nil},
		{"absolute IRIs are kept", "@base <x://a/b/> . <x://a/../c> <p> <> .", Options{}, []string{"<x://a/../c> <x://a/b/p> <x://a/b/>"}},
		{"base option", "<s> <p> <#o> .", Options{Base: "http://a/b"}, []string{"<http://a/s> <http://a/p> <http://a/b#o>"}},
		{"labels", "_:x <x:p> [] , _:genid_0 .", Options{}, []string{"_:x <x:p> _:genid_0", "_:x <x:p> _:genid__0"}},
		{"labels with a prefix", "_:x <x:p> [] , _:genid_0 .", Options{BlankPrefix: "d"}, []string{"_:d-x <x:p> _:d_0", "_:d-x <x:p> _:d-genid_0"}},
		{"local escapes", `@prefix e: <x:> . e:a\-b e:%41 e:\~\?.`, Options{}, []string{"<x:a-b> <x:%41> <x:~?>"}},
		{"dots in names", "@prefix e.f: <x:> . e.f:a.b e.f:p _:a.b. ", Options{}, []string{"<x:a.b> <x:p> _:a.b"}},
		{"quotes in long strings", `<x:s> <x:p> """a""b"c\"""" .`, Options{}, []string{`<x:s> <x:p> "a\"\"b\"c\""`}},
		{"TriG", "{<x:s> <x:p> 'a'} <x:g> {<x:s> <x:p> 'b' . [] <x:p> 'c' .} GRAPH _:g { }", Options{TriG: true},
			[]string{`<x:s> <x:p> "a"`, `<x:s> <x:p> "b" <x:g>`, `_:genid_0 <x:p> "c" <x:g>`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(test.doc), iotest.OneByteReader(strings.NewReader(test.doc))} {
				got, errs := parse(r, test.opts)
				if test.name == "no space" { // "a:o" is a prefixed name, and its prefix is not declared
					if len(errs) != 1 || !strings.Contains(errs[0].Error(), "prefix \"a:\" is not declared") {
						t.Errorf("errors %v", errs)
					}
					continue
				}
				if len(errs) > 0 || !slices.Equal(got, test.want) {
					t.Errorf("got %q, %v\nwant %q", got, errs, test.want)
				}
			}
		})
	}
}

// TestErrors: each error with its place.
func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name, doc string
		opts      Options
		want      string // line:column: message's start
	}{
		{"undeclared prefix", "<x:s> <x:p>\n  e:o .", Options{}, `2:3: prefix "e:" is not declared`},
		{"bare CR", "<x:s> <x:p>\r<x:o> ,\r\n  ; .", Options{}, `3:3: expected an object`},
		{"code points", "<x:s> <x:üü> \"ä\" x .", Options{}, `1:18: expected '.', ';' or ',', found 'x'`},
		{"no end", "<x:s> <x:p> <x:o>", Options{}, `1:18: the document ends here; expected '.'`},
		{"relative", "<s> <x:p> <x:o> .", Options{}, `1:1: relative IRI <s> and no base`},
		{"space in IRI", "<x:s> <x:p> <x:a b> .", Options{}, `1:17: ' ' is not allowed in an IRI`},
		{"open IRI", "<x:s> <x:p> <x:a", Options{}, `1:13: the IRI that starts here has no '>'`},
		{"surrogate", `<x:s> <x:p> "a\uD800" .`, Options{}, `1:15: escape of a surrogate`},
		{"surrogate pair", `<x:s> <x:p> "\uD83D\uDE00" .`, Options{}, `1:14: escape of a surrogate`},
		{"beyond Unicode", `<x:s> <x:p> <x:\U00110000> .`, Options{}, `1:16: escape beyond U+10FFFF`},
		{"escaped space in IRI", `<x:s> <x:p> <x:\u0020> .`, Options{}, `1:16: the escape stands for`},
		{"bad UTF-8 in string", "<x:s> <x:p> \"a\xff\" .", Options{}, `1:15: invalid UTF-8 (byte 0xFF)`},
		{"bad UTF-8 in IRI", "<x:s> <x:p> <x:\xc3> .", Options{}, `1:16: invalid UTF-8 (byte 0xC3)`},
		{"bad UTF-8 in name", "@prefix e: <x:> . e:a\xed\xa0\x80 .", Options{}, `1:22: invalid UTF-8 (byte 0xED)`},
		{"NUL", "<x:s> \x00 <x:o> .", Options{}, `1:7: expected a predicate (an IRI, a prefixed name or 'a'), found '\x00'`},
		{"line break", "<x:s> <x:p> \"a\nb\" .", Options{}, `1:15: line break in a string`},
		{"open string", "<x:s> <x:p> \"\"\"a\nb", Options{}, `1:13: the string that starts here is not closed`},
		{"deep", "<x:s> <x:p> ((([]))) .", Options{MaxDepth: 3}, `1:16: [ ], ( ), << >> and {| |} nested more than 3 deep`},
		{"very deep", "<x:s> <x:p> " + strings.Repeat("[<x:p>", 1e6), Options{}, `1:6013: [ ], ( ), << >> and {| |} nested more than 1000 deep`},
		{"long token", "<x:s> <x:p> \"" + strings.Repeat("a", 5000) + `" .`, Options{MaxToken: 1000}, `1:13: token of more than 1000 bytes`},
		{"long name", "@prefix e: <x:> . e:" + strings.Repeat("a", 5000) + ` .`, Options{MaxToken: 1000}, `1:19: token of more than 1000 bytes`},
		{"long number", "<x:s> <x:p> " + strings.Repeat("1", 5000) + ` .`, Options{MaxToken: 1000}, `1:13: token of more than 1000 bytes`},
		{"keyword", "true a <x:o> .", Options{}, `1:1: expected a subject`},
		{"directive", "@prefixes e: <x:> .", Options{}, `1:1: expected @prefix, @base or @version, found "@prefixes"`},
		{"graph in Turtle", "<x:g> { }", Options{}, `1:7: expected a predicate (an IRI, a prefixed name or 'a'), found '{'`},
		{"open block", "<x:g> { <x:s> <x:p> <x:o> .", Options{TriG: true}, `1:28: the document ends here; expected '}'`},
		{"prefix in block", "<x:g> { @prefix e: <x:> . }", Options{TriG: true}, `1:9: expected a subject`},
		{"source", "x", Options{Source: "f.ttl"}, `f.ttl:1:1: expected a subject (an IRI, a prefixed name, a blank node, a list or << triple >>), found "x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(test.doc), "halves": iotest.HalfReader(strings.NewReader(test.doc)),
			} {
				_, errs := parse(r, test.opts)
				if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), test.want) {
					t.Fatalf("%s: got %v\nwant %s", name, errs, test.want)
				}
				var syntax *triple.SyntaxError
				if !errors.As(errs[0], &syntax) {
					t.Errorf("%T is no SyntaxError", errs[0])
				}
				var reject *Reject
				if errors.As(errs[0], &reject) {
					t.Error("a Reject without KeepGoing")
				}
			}
		})
	}
}

// TestTermLimit: a term of 16 MiB is taken, one byte more is not.
func TestTermLimit(t *testing.T) {
	body := strings.Repeat("a", triple.MaxTermBytes)
	got, errs := parse(strings.NewReader("<x:s> <x:p> \"\"\""+body+"\"\"\" ."), Options{})
	if len(got) != 1 || len(errs) != 0 {
		t.Errorf("%d triples, %v", len(got), errs)
	}
	got, errs = parse(strings.NewReader("<x:s> <x:p> \"a"+body+"\" , <x:o> ."), Options{})
	if len(got) != 0 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "16 MiB") {
		t.Errorf("%d triples, %v", len(got), errs)
	}
}

// TestHugeLine: a token far beyond the limit needs no more memory than the limit.
func TestHugeLine(t *testing.T) {
	doc := io.MultiReader(strings.NewReader("<x:s> <x:p> \""), &repeat{b: 'a', n: 16 << 20}, strings.NewReader("\" .\n<x:s> <x:p> 1 ."))
	got, errs := parse(doc, Options{KeepGoing: true, MaxToken: 1 << 20})
	if len(got) != 1 || len(errs) != 1 {
		t.Fatalf("got %d triples, %d errors", len(got), len(errs))
	}
	var reject *Reject
	if !errors.As(errs[0], &reject) || len(reject.Text) != maxRejectText || reject.Column != 13 {
		t.Errorf("got %.100v", errs[0])
	}
}

// repeat reads as n times b.
type repeat struct {
	b byte
	n int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), r.n)
	for i := range p[:n] {
		p[i] = r.b
	}
	r.n -= n
	return n, nil
}

// TestReadError: an error of the reader is returned unchanged, never as the end of the
// document or as bad syntax.
func TestReadError(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, doc := range []string{"", "<x:s> <x:p> <x:o> .\n", "<x:s> <x:p> \"a", "<x:s> <x:p> <x:o", "<x:g> {", "#"} {
		for _, keepGoing := range []bool{false, true} {
			_, errs := parse(io.MultiReader(strings.NewReader(doc), iotest.ErrReader(broken)), Options{TriG: true, KeepGoing: keepGoing})
			if len(errs) != 1 || !errors.Is(errs[0], broken) {
				t.Errorf("%q: got %v", doc, errs)
			}
		}
	}
}

// TestStop: the receiver may stop anywhere.
func TestStop(t *testing.T) {
	doc := strings.Repeat("<x:s> <x:p> 1, 2, 3 . <x:s> bad . ", 3)
	for stop := 1; stop < 12; stop++ {
		n := 0
		for range Parse(strings.NewReader(doc), Options{KeepGoing: true}) {
			if n++; n == stop {
				break
			}
		}
		if n != stop {
			t.Errorf("stopped after %d, want %d", n, stop)
		}
	}
}

// TestHugeStatement: a statement of more triples than are held is given out whole.
func TestHugeStatement(t *testing.T) {
	const items = maxHeldTriples
	doc := "<x:s> <x:p> (" + strings.Repeat("1 ", items) + ") ."
	got, errs := parse(strings.NewReader(doc), Options{})
	if len(got) != 2*items+1 || len(errs) != 0 {
		t.Errorf("%d triples, %v", len(got), errs)
	}
}

func TestValidate(t *testing.T) {
	for _, opts := range []Options{{Base: "relative"}, {BlankPrefix: "a b"}, {MaxToken: -1}, {MaxDepth: -1}} {
		if _, errs := parse(strings.NewReader(""), opts); len(errs) != 1 {
			t.Errorf("%+v: got %v", opts, errs)
		}
	}
}
