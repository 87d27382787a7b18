// Tests of all formats, written and read.

package results

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/triple"
)

const xsd = triple.XSD

// sample has a term of every kind and every character escaped by a format.
var sample = struct {
	vars []string
	rows [][]triple.Term
}{
	[]string{"s", "o"},
	[][]triple.Term{
		{triple.NewIRI("http://example.org/a?b&c"), triple.NewString("tab\t quote\" back\\ nl\n cr\r <&>' é")},
		{triple.NewBlank("b0"), triple.NewLang("chat", "fr-BE")},
		{{}, triple.NewTyped("01", xsd+"integer")},
		{triple.NewTyped("1.0", xsd+"decimal"), triple.NewTyped("1e0", xsd+"double")},
		{triple.NewTyped("x", "http://example.org/t"), {}},
		{{}, {}},
		{triple.NewTyped("1.", xsd+"decimal"), triple.NewTyped("true", xsd+"boolean")},
		{triple.NewString(""), triple.NewString("a,b")},
	},
}

func write(t testing.TB, f Format, vars []string, rows [][]triple.Term) string {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, f, vars)
	for _, row := range rows {
		require.NoError(t, w.Write(row))
	}
	require.NoError(t, w.Close())
	return b.String()
}

// read reads a whole document.
func read(doc string, f Format) (vars []string, rows [][]triple.Term, err error) {
	r, err := NewReader(iotest.OneByteReader(strings.NewReader(doc)), f)
	if err != nil {
		return nil, nil, err
	}
	for r.Next() {
		rows = append(rows, slices.Clone(r.Row()))
	}
	return r.Vars(), rows, r.Err()
}

func TestWriters(t *testing.T) {
	want := map[Format]string{
		JSON: `{"head":{"vars":["s","o"]},"results":{"bindings":[
{"s":{"type":"uri","value":"http://example.org/a?b&c"},"o":{"type":"literal","value":"tab\t quote\" back\\ nl\n cr\r <&>' é"}},
{"s":{"type":"bnode","value":"b0"},"o":{"type":"literal","value":"chat","xml:lang":"fr-be"}},
{"o":{"type":"literal","value":"01","datatype":"` + xsd + `integer"}},
{"s":{"type":"literal","value":"1.0","datatype":"` + xsd + `decimal"},"o":{"type":"literal","value":"1e0","datatype":"` + xsd + `double"}},
{"s":{"type":"literal","value":"x","datatype":"http://example.org/t"}},
{},
{"s":{"type":"literal","value":"1.","datatype":"` + xsd + `decimal"},"o":{"type":"literal","value":"true","datatype":"` + xsd + `boolean"}},
{"s":{"type":"literal","value":""},"o":{"type":"literal","value":"a,b"}}
]}}
`,
		XML: `<?xml version="1.0" encoding="UTF-8"?>
<sparql xmlns="http://www.w3.org/2005/sparql-results#">
  <head>
    <variable name="s"/>
    <variable name="o"/>
  </head>
  <results>
    <result><binding name="s"><uri>http://example.org/a?b&amp;c</uri></binding><binding name="o"><literal>tab&#x9; quote&quot; back\ nl&#xA; cr&#xD; &lt;&amp;&gt;' é</literal></binding></result>
    <result><binding name="s"><bnode>b0</bnode></binding><binding name="o"><literal xml:lang="fr-be">chat</literal></binding></result>
    <result><binding name="o"><literal datatype="` + xsd + `integer">01</literal></binding></result>
    <result><binding name="s"><literal datatype="` + xsd + `decimal">1.0</literal></binding><binding name="o"><literal datatype="` + xsd + `double">1e0</literal></binding></result>
    <result><binding name="s"><literal datatype="http://example.org/t">x</literal></binding></result>
    <result></result>
    <result><binding name="s"><literal datatype="` + xsd + `decimal">1.</literal></binding><binding name="o"><literal datatype="` + xsd + `boolean">true</literal></binding></result>
    <result><binding name="s"><literal></literal></binding><binding name="o"><literal>a,b</literal></binding></result>
  </results>
</sparql>
`,
		CSV: "s,o\r\nhttp://example.org/a?b&c,\"tab\t quote\"\" back\\ nl\n cr\r <&>' é\"\r\n_:b0,chat\r\n,01\r\n1.0,1e0\r\nx,\r\n,\r\n1.,true\r\n,\"a,b\"\r\n",
		TSV: "?s\t?o\n<http://example.org/a?b&c>\t\"tab\\t quote\\\" back\\\\ nl\\n cr\\r <&>' é\"\n_:b0\t\"chat\"@fr-be\n\t01\n1.0\t1e0\n" +
			"\"x\"^^<http://example.org/t>\t\n\t\n\"1.\"^^<" + xsd + "decimal>\t\"true\"^^<" + xsd + "boolean>\n\"\"\t\"a,b\"\n",
		Table: `s                           | o
----------------------------+-----------------------------------------------------
<http://example.org/a?b&c>  | "tab\t quote\" back\\ nl\n cr\r <&>' é"
_:b0                        | "chat"@fr-be
                            | 01
1.0                         | 1e0
"x"^^<http://example.org/t> | ` + `
                            | ` + `
"1."^^<http://www.w3.org/2001/XMLSchema#decimal> | "true"^^<http://www.w3.org/2001/XMLSchema#boolean>
""                          | "a,b"
`,
	}
	for f, want := range want {
		got := write(t, f, sample.vars, sample.rows)
		if f == Table { // only the presence of lines: widths are those of the widest cells
			want = got
			for _, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
				if strings.Count(line, " | ")+strings.Count(line, "-+-") != 1 || strings.IndexAny(line, "|+") != 49 {
					t.Errorf("table: line %q is not aligned", line)
				}
			}
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", f, got, want)
		}
	}
}

func TestReadersOfSample(t *testing.T) {
	for _, f := range []Format{JSON, XML, TSV} {
		vars, rows, err := read(write(t, f, sample.vars, sample.rows), f)
		if err != nil || !slices.Equal(vars, sample.vars) || !slices.EqualFunc(rows, sample.rows, slices.Equal) {
			t.Errorf("%s: %v %v %v", f, vars, rows, err)
		}
	}
	_, rows, err := read(write(t, CSV, sample.vars, sample.rows), CSV)
	want := [][]triple.Term{
		{triple.NewString("http://example.org/a?b&c"), sample.rows[0][1]}, {triple.NewBlank("b0"), triple.NewString("chat")}, {{}, triple.NewString("01")},
		{triple.NewString("1.0"), triple.NewString("1e0")}, {triple.NewString("x"), {}}, {{}, {}}, {triple.NewString("1."), triple.NewString("true")}, {{}, triple.NewString("a,b")},
	}
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("csv: %v %v", rows, err)
	}
}

func TestBoolean(t *testing.T) {
	for _, f := range Formats {
		for _, want := range []bool{true, false} {
			var b bytes.Buffer
			require.NoError(t, WriteBoolean(&b, f, want))
			r, err := NewReader(&b, f)
			if err != nil {
				t.Fatalf("%s: %v", f, err)
			}
			if got, ok := r.Boolean(); got != want || !ok || r.Next() || r.Err() != nil || r.Vars() != nil {
				t.Errorf("%s: %v %v %v", f, got, ok, r.Err())
			}
		}
	}
}

// TestNoVariables: solutions of no variables count all the same.
func TestNoVariables(t *testing.T) {
	for _, f := range Formats {
		for _, n := range []int{0, 2} {
			vars, rows, err := read(write(t, f, nil, make([][]triple.Term, n)), f)
			if err != nil || len(vars) != 0 || vars == nil || len(rows) != n {
				t.Errorf("%s: %d rows of no variables are %v %v %v", f, n, vars, len(rows), err)
			}
		}
	}
	vars, rows, err := read(write(t, CSV, []string{"true"}, nil), CSV)
	if !slices.Equal(vars, []string{"true"}) || rows != nil || err != nil {
		t.Errorf("csv with a variable named true: %v %v %v", vars, rows, err)
	}
}

func TestHeads(t *testing.T) {
	for _, c := range []struct {
		f   Format
		doc string
	}{
		{JSON, `{"head":{"link":["http://a/","b"],"vars":["x"],"extra":[{"a":[null,true,-1.5e+3]}]},"more":{},"results":{"ordered":false,"bindings":[{"x":{"type":"typed-literal","value":"\ud83d\ude00","datatype":"http://a/t"}}],"distinct":true},"z":1}`},
		{JSON, `{"results":{"bindings":[{"x":{"type":"literal","value":"😀","datatype":"http://a/t"}}]},"head":{"vars":["x"],"link":["http://a/","b"]}}`},
		{XML, `<?xml version="1.0"?><!-- c --><s:sparql xmlns:s="http://www.w3.org/2005/sparql-results#" xmlns:o="http://other/"><s:head><s:variable name="x"/><s:link href="http://a/"/><s:link href="b"/><o:meta><o:x>text</o:x></o:meta></s:head>` +
			`<s:results distinct="true"><s:result index="1"><s:binding name="x"><s:literal datatype="http://a/t">&#x1F600;</s:literal></s:binding></s:result></s:results></s:sparql><!-- d -->`},
	} {
		r, err := NewReader(strings.NewReader(c.doc), c.f)
		if err != nil {
			t.Errorf("%s: %v", c.doc, err)
			continue
		}
		if !r.Next() || r.Row()[0] != triple.NewTyped("😀", "http://a/t") || r.Next() || r.Err() != nil {
			t.Errorf("%s: row %v, error %v", c.doc, r.Row(), r.Err())
		}
		if !slices.Equal(r.Links(), []string{"http://a/", "b"}) || !slices.Equal(r.Vars(), []string{"x"}) {
			t.Errorf("%s: links %v vars %v", c.doc, r.Links(), r.Vars())
		}
	}
}

func TestMalformed(t *testing.T) {
	jsonRow := func(row string) string { return `{"head":{"vars":["x"]},"results":{"bindings":[` + row + `]}}` }
	xmlRow := func(row string) string {
		return xmlStart + `<head><variable name="x"/></head><results>` + row + `</results></sparql>`
	}
	for f, docs := range map[Format][]string{
		JSON: {``, `{`, `[]`, `{}`, `{"head":{}}`, `{"head":{"vars":["x"]}}`, `{"head":{},"results":{"bindings":[]}}`, `{"head":{},"boolean":1}`, `{"head":{},"boolean":"true"}`, `{"head":{},"boolean":true}}`, `{"head":{},"boolean":true,}`,
			`{"head":{"vars":["x","x"]},"results":{"bindings":[]}}`, `{"head":{},"boolean":true,"results":{}}`, `{"head":{},"a":01,"boolean":true}`, `{"head":{},"a":1.e1,"boolean":true}`, `{"head":{},"a":tru,"boolean":true}`,
			jsonRow(`{"y":{"type":"uri","value":"http://a/"}}`), jsonRow(`{"x":{"type":"uri","value":"rel"}}`), jsonRow(`{"x":{"type":"uri"}}`), jsonRow(`{"x":{"type":"thing","value":"a"}}`), jsonRow(`{},`), jsonRow(`{} {}`),
			jsonRow(`{"x":{"type":"literal","value":"\ud800"}}`), jsonRow("{\"x\":{\"type\":\"literal\",\"value\":\"\xff\"}}"), jsonRow("{\"x\":{\"type\":\"literal\",\"value\":\"\n\"}}"), jsonRow(`{"x":{"type":"literal","value":"a","datatype":"http://a/","xml:lang":"en"}}`),
			jsonRow(`{"x":{"type":"literal","value":"a","xml:lang":"e n"}}`), jsonRow(`{"x":{"type":"literal","value":"a","value":"b"}}`), strings.TrimSuffix(jsonRow(`{}`), `]}}`), strings.TrimSuffix(jsonRow(`{}`), `}`), `{"head":{},"a":` + strings.Repeat("[", 100)},
		XML: {``, `<sparql/>`, xmlStart, xmlStart + `<head/></sparql>`, xmlStart + `<results/></sparql>`, xmlStart + `<head/><boolean>maybe</boolean></sparql>`, xmlStart + `<head/><boolean>true</boolean></sparql><a/>`, xmlStart + `<head/><boolean>true</boolean><results/></sparql>`,
			`<!DOCTYPE a [<!ENTITY e "x">]>` + strings.TrimPrefix(xmlRow(``), `<?xml version="1.0" encoding="UTF-8"?>`), xmlRow(`<result><binding name="y"><uri>http://a/</uri></binding></result>`), xmlRow(`<result><binding name="x"/></result>`), xmlRow(`<result><binding><bnode>a</bnode></binding></result>`),
			xmlRow(`<result><binding name="x"><uri>rel</uri></binding></result>`), xmlRow(`<result><binding name="x"><uri>http://a/</uri><uri>http://a/</uri></binding></result>`), xmlRow(`<result>text</result>`), xmlRow(`<result><binding name="x"><literal>&e;</literal></binding></result>`), xmlRow(`<thing/>`),
			xmlRow(`<result><binding name="x"><literal>a<b/></literal></binding></result>`), xmlRow("<result><binding name=\"x\"><literal>\x01</literal></binding></result>"), strings.TrimSuffix(xmlRow(``), `</sparql>`), xmlRow(`<result>`)},
		CSV: {``, "x,x\r\n", "x,\r\n", "x\r\na,b\r\n", "x,y\r\na\r\n", "x\r\n\"a\r\n", "x\r\na\"b\r\n", "x\r\n\"a\"b\r\n", "x\r\na\rb\r\n", "true\r\nx\r\n", "x\r\n\xff\r\n"},
		TSV: {``, "x\n", "?x\t?x\n", "?\n", "?x\n1\t2\n", "?x\t?y\n1\n", "?x\nabc\n", "?x\n<rel>\n", "?x\n\"a\n", "?x\n\"a\"@\n", "?x\n 1\n", "?x\n\"a\" \n", "?x\n1.\n", "false\n\n", "?x\n\"\xff\"\n", "\nx\n"},
	} {
		for _, doc := range docs {
			if _, _, err := read(doc, f); !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrLimit) {
				t.Errorf("%s %q: error %v", f, doc, err)
			}
		}
	}
}

// TestLimits: endless documents end in an error, in little memory.
func TestLimits(t *testing.T) {
	for f, start := range map[Format]string{
		JSON: `{"head":{"vars":["`, XML: xmlStart + "<head><variable name=\"", TSV: "?x\n\"", CSV: "x\n\"",
	} {
		r, err := NewReader(io.MultiReader(strings.NewReader(start), endless{}), f)
		if err == nil {
			for r.Next() {
				continue
			}
			err = r.Err()
		}
		if !errors.Is(err, ErrLimit) {
			t.Errorf("%s: error %v", f, err)
		}
	}
}

// TestDeepParts: triple terms at places that have none must not cost a stack, because the answer of a
// SERVICE is another server's.
func TestDeepParts(t *testing.T) {
	for f, parts := range map[Format][3]string{
		XML:  {xmlStart + `<head><variable name="x"/></head><results><result><binding name="x">`, "<triple><%s>", "subject predicate"},
		JSON: {`{"head":{"vars":["x"]},"results":{"bindings":[{"x":`, `{"type":"triple","value":{"%s":`, "subject predicate"},
	} {
		for _, part := range append(strings.Fields(parts[2]), "object") {
			doc := parts[0] + strings.Repeat(fmt.Sprintf(parts[1], part), 1_000_000)
			if _, _, err := read(doc, f); !errors.Is(err, ErrSyntax) && !errors.Is(err, ErrLimit) {
				t.Errorf("%s %s: error %v", f, part, err)
			}
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

func TestWriterErrors(t *testing.T) {
	w := NewWriter(io.Discard, JSON, []string{"a"})
	if err := w.Write(nil); !errors.Is(err, ErrRowLength) {
		t.Errorf("a short row: %v", err)
	}
	failure := errors.New("full")
	w = NewWriter(failing{failure}, CSV, []string{"a"})
	row := []triple.Term{triple.NewString(strings.Repeat("x", 1000))}
	var err error
	for range 100 {
		if err = w.Write(row); err != nil {
			break
		}
	}
	if !errors.Is(err, failure) || !errors.Is(w.Close(), failure) {
		t.Errorf("a writer that fails: %v", err)
	}
	// An unknown format writes nothing, not even JSON.
	var out strings.Builder
	w = NewWriter(&out, Table+1, []string{"a"})
	for _, err := range []error{w.Write(row), w.Flush(), w.Close(), WriteBoolean(&out, Table+1, true)} {
		if err == nil || err.Error() != "unknown format 5 of results" {
			t.Errorf("an unknown format: %v", err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("an unknown format is written as %q", out.String())
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestTableEscapes(t *testing.T) {
	got := write(t, Table, []string{"x"}, [][]triple.Term{{triple.NewString("\x1b[2J\u202Eabc\u0007")}, {triple.NewString("日本")}})
	want := "x\n" + strings.Repeat("-", 29) + "\n" + `"\u001B[2J\u202Eabc\u0007"` + "\n" + `"日本"` + "\n"
	want = strings.Replace(want, strings.Repeat("-", 29), strings.Repeat("-", 26), 1)
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFormats(t *testing.T) {
	for _, f := range append(Formats[:], Table) {
		if got, err := ParseFormat(strings.ToUpper(f.String())); got != f || err != nil {
			t.Errorf("ParseFormat(%s) = %v, %v", f, got, err)
		}
		if got, ok := FormatOf(f.ContentType()); ok != (f != Table) || ok && got != f {
			t.Errorf("FormatOf(%s) = %v, %v", f.ContentType(), got, ok)
		}
	}
	if _, err := ParseFormat("yaml"); err == nil {
		t.Error("ParseFormat(yaml): no error")
	}
}

// genTerm generates terms preserved exactly by JSON and TSV.
func genTerm() *rapid.Generator[triple.Term] {
	text := rapid.StringOf(rapid.SampledFrom([]rune("ab1.,-e+ \t\n\r\"'\\<>&é日😀\u0000\u0001\u001F\u007F\uFFFD\uFEFF\u2028?_:;{}")))
	return rapid.Custom(func(t *rapid.T) triple.Term {
		// 1. Sometimes levels of triple terms around the term.
		var levels triple.TripleTermBuilder
		for range rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 30}).Draw(t, "depth") {
			s := triple.NewIRI("http://example.org/s")
			if rapid.Bool().Draw(t, "blank") {
				s = triple.NewBlank("s0")
			}
			levels.Add(s, triple.NewIRI("http://example.org/p"))
		}
		if levels.Len() > 0 {
			object := triple.NewLang(text.Draw(t, "text"), rapid.SampledFrom([]string{"en", "ar--rtl"}).Draw(t, "tag"))
			if rapid.Bool().Draw(t, "typed") {
				object = triple.NewTyped(rapid.SampledFrom([]string{"1", "1.5", "x"}).Draw(t, "number"), xsd+"integer")
			}
			return levels.Term(object)
		}
		// 2. Else a term of another kind.
		s := text.Draw(t, "text")
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return triple.Term{}
		case 1:
			return triple.NewIRI("http://example.org/" + rapid.StringMatching(`[a-z&?#'é]*`).Draw(t, "iri"))
		case 2:
			return triple.NewBlank("b" + rapid.StringMatching(`[a-z0-9]*`).Draw(t, "label"))
		case 3:
			return triple.NewLang(s, rapid.SampledFrom([]string{"en", "de-AT", "EN", "ar--rtl", "EN--ltr"}).Draw(t, "tag"))
		case 4:
			number := rapid.StringMatching(`[-+]?[0-9]{0,3}\.?[0-9]{0,2}([eE][-+]?[0-9]{1,2})?`).Draw(t, "number")
			return triple.NewTyped(number, rapid.SampledFrom([]string{xsd + "integer", xsd + "decimal", xsd + "double", xsd + "boolean", "http://example.org/t"}).Draw(t, "type"))
		}
		return triple.NewString(s)
	})
}

// xmlText returns the part of a text preserved by XML.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' {
			return '\uFFFD'
		}
		return r
	}, s)
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(0, 3).Draw(t, "columns")
		vars := []string{"x", "y1", "é"}[:columns]
		rows := rapid.SliceOfN(rapid.SliceOfN(genTerm(), columns, columns), 0, 5).Draw(t, "rows")
		for _, f := range Formats {
			var b bytes.Buffer
			w := NewWriter(&b, f, vars)
			for _, row := range rows {
				require.NoError(t, w.Write(row))
			}
			require.NoError(t, w.Close())
			gotVars, got, err := read(b.String(), f)
			if err != nil || !slices.Equal(gotVars, vars) || len(got) != len(rows) {
				t.Fatalf("%s: %q: %d rows, error %v", f, b.String(), len(got), err)
			}
			for i, row := range rows {
				for j, term := range row {
					if want := asRead(f, term); got[i][j] != want {
						t.Fatalf("%s: wrote %s, read %s, want %s", f, term, got[i][j], want)
					}
				}
			}
		}
	})
}

// asRead returns a written term as a format's reader returns it.
func asRead(f Format, t triple.Term) triple.Term {
	switch {
	case f == XML && t.Kind() == triple.TripleTerm:
		inner, _ := t.Triple()
		return triple.NewTripleTerm(inner.Subject, inner.Predicate, asRead(f, inner.Object))
	case f == CSV && t.Kind() == triple.TripleTerm:
		return triple.NewString(csvText(t))
	case f == XML && t.Lang() != "":
		return triple.NewLang(xmlText(t.Value()), t.LangDir())
	case f == XML && t.Kind() == triple.Literal:
		return triple.NewTyped(xmlText(t.Value()), t.Datatype())
	case f == CSV && t.Kind() != triple.Blank:
		if label, ok := strings.CutPrefix(t.Value(), "_:"); ok && label != "" {
			return blank(label) // CSV loses this difference
		}
		if t.Value() == "" {
			return triple.Term{}
		}
		return triple.NewString(t.Value())
	}
	return t
}

// tripleTerms are rows with triple terms and base directions, in each format.
var tripleTerms = struct {
	vars []string
	rows [][]triple.Term
	want map[Format]string
}{
	[]string{"t"},
	[][]triple.Term{
		{triple.NewTripleTerm(triple.NewIRI("x:s"), triple.NewIRI("x:p"), triple.NewTyped("1", xsd+"integer"))},
		{triple.NewTripleTerm(triple.NewBlank("b"), triple.NewIRI("x:p"), triple.NewTripleTerm(triple.NewIRI("x:s"), triple.NewIRI("x:p"), triple.NewString("say \"a\tb\"")))},
		{triple.NewLang("\u0642\u0637\u0629", "ar--rtl")},
	},
	map[Format]string{
		JSON: `{"head":{"vars":["t"]},"results":{"bindings":[
{"t":{"type":"triple","value":{"subject":{"type":"uri","value":"x:s"},"predicate":{"type":"uri","value":"x:p"},"object":{"type":"literal","value":"1","datatype":"http://www.w3.org/2001/XMLSchema#integer"}}}},
{"t":{"type":"triple","value":{"subject":{"type":"bnode","value":"b"},"predicate":{"type":"uri","value":"x:p"},"object":{"type":"triple","value":{"subject":{"type":"uri","value":"x:s"},"predicate":{"type":"uri","value":"x:p"},"object":{"type":"literal","value":"say \"a\tb\""}}}}}},
{"t":{"type":"literal","value":"قطة","xml:lang":"ar","its:dir":"rtl"}}
]}}
`,
		XML: xmlStart + `  <head>
    <variable name="t"/>
  </head>
  <results>
    <result><binding name="t"><triple><subject><uri>x:s</uri></subject><predicate><uri>x:p</uri></predicate><object><literal datatype="http://www.w3.org/2001/XMLSchema#integer">1</literal></object></triple></binding></result>
    <result><binding name="t"><triple><subject><bnode>b</bnode></subject><predicate><uri>x:p</uri></predicate><object><triple><subject><uri>x:s</uri></subject><predicate><uri>x:p</uri></predicate><object><literal>say &quot;a&#x9;b&quot;</literal></object></triple></object></triple></binding></result>
    <result><binding name="t"><literal xml:lang="ar" xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0" its:dir="rtl">قطة</literal></binding></result>
  </results>
</sparql>
`,
		CSV:   "t\r\n\"<<( x:s x:p \"\"1\"\" )>>\"\r\n\"<<( _:b x:p <<( x:s x:p \"\"say \"\"\"\"a\tb\"\"\"\"\"\" )>> )>>\"\r\nقطة\r\n",
		TSV:   "?t\n<<( <x:s> <x:p> 1 )>>\n<<( _:b <x:p> <<( <x:s> <x:p> \"say \\\"a\\tb\\\"\" )>> )>>\n\"قطة\"@ar--rtl\n",
		Table: "t\n-----------------------------------------------------\n<<( <x:s> <x:p> 1 )>>\n<<( _:b <x:p> <<( <x:s> <x:p> \"say \\\"a\\tb\\\"\" )>> )>>\n\"قطة\"@ar--rtl\n",
	},
}

func TestTripleTerms(t *testing.T) {
	for f, want := range tripleTerms.want {
		got := write(t, f, tripleTerms.vars, tripleTerms.rows)
		if f == Table { // without the line, whose width is that of the cells
			head, rest, _ := strings.Cut(got, "\n")
			_, rest, _ = strings.Cut(rest, "\n")
			_, wanted, _ := strings.Cut(want[2:], "\n")
			got, want = head+rest, "t"+wanted
		}
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", f, got, want)
		}
		if f == CSV || f == Table {
			continue
		}
		if _, rows, err := read(want, f); err != nil || !slices.EqualFunc(rows, tripleTerms.rows, slices.Equal) {
			t.Errorf("%s: read %v, %v", f, rows, err)
		}
	}
	// A table has prefixed names inside of triple terms, too.
	var b strings.Builder
	w := NewTable(&b, tripleTerms.vars, TableOptions{Shorten: func(iri string) (string, bool) { return strings.CutPrefix(iri, "x") }})
	if err := errors.Join(w.Write(tripleTerms.rows[1]), w.Close()); err != nil || !strings.Contains(b.String(), `<<( _:b :p <<( :s :p "say`) {
		t.Errorf("%v\n%s", err, b.String())
	}
	// Members and elements may come in any order.
	vars := `{"head":{"vars":["t"]},"results":{"bindings":[{"t":`
	term := vars + `{"value":{"object":{"its:dir":"ltr","value":"x","xml:lang":"en","type":"literal"},"predicate":{"type":"uri","value":"x:p"},"subject":{"type":"uri","value":"x:s"}},"type":"triple"}}]}}`
	want := triple.NewTripleTerm(triple.NewIRI("x:s"), triple.NewIRI("x:p"), triple.NewLang("x", "en--ltr"))
	if _, rows, err := read(term, JSON); err != nil || rows[0][0] != want {
		t.Errorf("%v, %v", rows, err)
	}
	// Documents that are wrong, or nest too deep. Deep ones must not take quadratic time.
	const part = `{"type":"triple","value":{"subject":{"type":"uri","value":"x:s"},"predicate":{"type":"uri","value":"x:p"},"object":`
	deep := func(n int) string {
		return vars + strings.Repeat(part, n) + `{"type":"uri","value":"x:o"}` + strings.Repeat("}}", n) + "}]}}"
	}
	xmlTerm := func(inner string) string {
		return xmlStart + `<head><variable name="t"/></head><results><result><binding name="t">` + inner + `</binding></result></results></sparql>`
	}
	const iri, xmlPart = "<uri>x:s</uri>", "<triple><subject><uri>x:s</uri></subject><predicate><uri>x:p</uri></predicate><object>"
	for _, c := range []struct {
		f     Format
		doc   string
		words string
	}{
		{JSON, vars + `{"type":"triple","value":"x"}}]}}`, "belong together"},
		{JSON, vars + `{"type":"uri","value":{"object":{"type":"uri","value":"x:o"},"subject":{"type":"uri","value":"x:s"},"predicate":{"type":"uri","value":"x:p"}}}}]}}`, "belong together"},
		{JSON, vars + `{"type":"triple","value":{"object":{"type":"uri","value":"x:o"}}}}]}}`, "without subject"},
		{JSON, vars + `{"type":"triple","value":{"subject":{"type":"literal","value":"x"},"predicate":{"type":"uri","value":"x:p"},"object":{"type":"uri","value":"x:o"}}}}]}}`, "make no triple"},
		{JSON, vars + `{"type":"literal","value":"x","its:dir":"ltr"}}]}}`, "no language"},
		{JSON, vars + `{"type":"literal","value":"x","xml:lang":"en","its:dir":"up"}}]}}`, "not ltr or rtl"},
		{JSON, vars + `{"type":"literal","value":"x","xml:lang":"ar--rtl"}}]}}`, "which its:dir gives"},
		{JSON, vars + `{"type":"literal","value":"x","xml:lang":"ar--rtl","its:dir":"rtl"}}]}}`, "which its:dir gives"},
		{XML, `<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head><variable name="t"/></head><results><result><binding name="t"><literal xml:lang="ar--rtl">x</literal></binding></result></results></sparql>`, "which its:dir gives"},
		{JSON, deep(triple.DefaultNesting), ""},
		{JSON, deep(triple.DefaultNesting + 1), "nested more than 100 deep; name the inner ones by reifiers, or raise --max-nesting"},
		{JSON, deep(100_000), "nested more than 100 deep"},
		{XML, xmlTerm("<triple><subject>" + iri + "</subject></triple>"), "without an object"},
		{XML, xmlTerm("<triple><object>" + iri + "</object><object>" + iri + "</object></triple>"), "two elements object"},
		{XML, xmlTerm(xmlPart + iri + iri + "</object></triple>"), "two terms"},
		{XML, xmlTerm("<triple><part>" + iri + "</part></triple>"), "element part in a triple term"},
		{XML, xmlTerm(strings.Repeat(xmlPart, 101) + iri + strings.Repeat("</object></triple>", 101)), "nested more than 100 deep"},
		{XML, xmlTerm(strings.Repeat(xmlPart, 100) + iri + strings.Repeat("</object></triple>", 100)), ""},
	} {
		_, _, err := read(c.doc, c.f)
		if (err == nil) != (c.words == "") || err != nil && !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s %.200s: %v", c.f, c.doc, err)
		}
	}
}

func FuzzReaders(f *testing.F) {
	for _, format := range Formats {
		f.Add(uint8(format), write(f, format, tripleTerms.vars, tripleTerms.rows))
	}
	for _, format := range Formats {
		f.Add(uint8(format), write(f, format, sample.vars, sample.rows))
		var boolean strings.Builder
		if err := WriteBoolean(&boolean, format, true); err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(format), boolean.String())
	}
	f.Add(uint8(JSON), `{"results":{"bindings":[{"x":{"type":"bnode","value":"a b"}}]},"head":{"vars":["x"]}}`)
	f.Fuzz(func(t *testing.T, format uint8, doc string) {
		if int(format) >= len(Formats) {
			return
		}
		vars, rows, err := read(doc, Format(format))
		if err != nil {
			return
		}
		for _, row := range rows {
			for _, term := range row {
				if !term.IsZero() && term.Check() != nil {
					t.Fatalf("read a term that is none: %q", term)
				}
			}
		}
		if vars == nil {
			return
		}
		// Terms must be the same after another write and read.
		for _, again := range []Format{JSON, TSV} {
			if again == TSV && slices.ContainsFunc(vars, func(s string) bool { return strings.ContainsAny(s, "\t\r\n") }) {
				continue
			}
			_, same, err := read(write(t, again, vars, rows), again)
			if err != nil || len(same) != len(rows) {
				t.Fatalf("%s: %v", again, err)
			}
		}
	})
}

func BenchmarkWriters(b *testing.B) {
	for _, f := range append(Formats[:], Table) {
		b.Run(f.String(), func(b *testing.B) {
			w := NewWriter(io.Discard, f, sample.vars)
			b.ReportAllocs()
			for i := range b.N {
				if err := w.Write(sample.rows[i%len(sample.rows)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReaders(b *testing.B) {
	for _, f := range Formats {
		var doc bytes.Buffer
		w := NewWriter(&doc, f, sample.vars)
		for i := range 10000 {
			_ = w.Write(sample.rows[i%len(sample.rows)])
		}
		_ = w.Close()
		b.Run(f.String(), func(b *testing.B) {
			b.SetBytes(int64(doc.Len()))
			b.ReportAllocs()
			for range b.N {
				r, err := NewReader(bytes.NewReader(doc.Bytes()), f)
				if err != nil {
					b.Fatal(err)
				}
				for r.Next() {
					continue
				}
				if r.Err() != nil {
					b.Fatal(r.Err())
				}
			}
		})
	}
}

func ExampleWriter() {
	var out strings.Builder
	w := NewWriter(&out, TSV, []string{"name", "age"})
	_ = w.Write([]triple.Term{triple.NewLang("Zoë", "nl"), triple.NewTyped("42", triple.XSDInteger)})
	_ = w.Close()
	fmt.Print(out.String())
	// Output:
	// ?name	?age
	// "Zoë"@nl	42
}

// TestTagsAreFolded: the reader of each format makes one term of language tags that differ in case.
func TestTagsAreFolded(t *testing.T) {
	for format, document := range map[Format]string{
		JSON: `{"head":{"vars":["o"]},"results":{"bindings":[{"o":{"type":"literal","value":"a","xml:lang":"EN-gb"}},{"o":{"type":"triple","value":` +
			`{"subject":{"type":"uri","value":"x:s"},"predicate":{"type":"uri","value":"x:p"},"object":{"type":"literal","value":"a","xml:lang":"EN-gb","its:dir":"ltr"}}}}]}}`,
		XML: `<sparql xmlns="http://www.w3.org/2005/sparql-results#" xmlns:its="http://www.w3.org/2005/11/its"><head><variable name="o"/></head><results><result><binding name="o">` +
			`<literal xml:lang="EN-gb">a</literal></binding></result><result><binding name="o"><triple><subject><uri>x:s</uri></subject><predicate><uri>x:p</uri></predicate>` +
			`<object><literal xml:lang="EN-gb" its:dir="ltr">a</literal></object></triple></binding></result></results></sparql>`,
		TSV: "?o\n\"a\"@EN-gb\n<<( <x:s> <x:p> \"a\"@EN-gb--ltr )>>\n",
	} {
		want := [][]triple.Term{{triple.NewLang("a", "en-gb")}, {triple.NewTripleTerm(triple.NewIRI("x:s"), triple.NewIRI("x:p"), triple.NewLang("a", "en-gb--ltr"))}}
		if _, rows, err := read(document, format); err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
			t.Errorf("%s: %v, %v", format, rows, err)
		}
	}
}
