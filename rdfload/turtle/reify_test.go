// Tests of triple terms, reified triples and annotations.

package turtle

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/trefoildb/trefoil/triple"
)

const reifies = "<" + triple.RDFReifies + ">"

// TestReified: which triples each production of RDF 1.2 makes.
func TestReified(t *testing.T) {
	const prefix = "PREFIX : <x:>\n"
	for _, test := range []struct {
		name, doc string
		want      []string
	}{
		{"triple term", ":r :says <<( :s a 'x'@ar--rtl )>> .", []string{`<x:r> <x:says> <<( <x:s> <` + triple.RDFType + `> "x"@ar--rtl )>>`}},
		{"nested triple term", ":r :says<<([]:p<<(_:b:p -1)>>)>>.",
			[]string{`<x:r> <x:says> <<( _:genid_0 <x:p> <<( _:b <x:p> "-1"^^<` + triple.XSDInteger + `> )>> )>>`}},
		{"reified subject", "<< :s :p :o >> :q 'z' .", []string{`_:genid_0 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`, `_:genid_0 <x:q> "z"`}},
		{"reified alone", "<<:s :p :o>> .", []string{`_:genid_0 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`}},
		{"named reifier", ":a :b << :s :p [ ] ~ :id >> .", []string{`<x:id> ` + reifies + ` <<( <x:s> <x:p> _:genid_0 )>>`, `<x:a> <x:b> <x:id>`}},
		{"fresh reifiers", "<< :s :p :o ~>> :q << :s :p :o ~ _:b >> .",
			[]string{`_:genid_0 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`, `_:b ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`, `_:genid_0 <x:q> _:b`}},
		{"nested reified", "<< <<:s :p :o>> :q <<( :s :p :o )>>>> :r << :a :b << :c :d :e >> >> .", []string{
			`_:genid_0 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`,
			`_:genid_1 ` + reifies + ` <<( _:genid_0 <x:q> <<( <x:s> <x:p> <x:o> )>> )>>`,
			`_:genid_2 ` + reifies + ` <<( <x:c> <x:d> <x:e> )>>`,
			`_:genid_3 ` + reifies + ` <<( <x:a> <x:b> _:genid_2 )>>`,
			`_:genid_1 <x:r> _:genid_3`}},
		{"in a list", "( << :s :p :o >> ) :q [ :r << :s :p :o ~ :i >> ] .", []string{
			`_:genid_1 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`,
			`_:genid_0 <` + triple.RDFFirst + `> _:genid_1`,
			`_:genid_0 <` + triple.RDFRest + `> <` + triple.RDFNil + `>`,
			`<x:i> ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`,
			`_:genid_2 <x:r> <x:i>`,
			`_:genid_0 <x:q> _:genid_2`}},
		{"annotation", ":s :p :o {| :q :z ; :r 'y' ; |} , :o2 ; :p2 :o3 .", []string{
			`<x:s> <x:p> <x:o>`,
			`_:genid_0 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`,
			`_:genid_0 <x:q> <x:z>`, `_:genid_0 <x:r> "y"`,
			`<x:s> <x:p> <x:o2>`, `<x:s> <x:p2> <x:o3>`}},
		{"reifiers and blocks", ":s :p :o ~ ~:a {| :q :b |} {| :q :c |} ~[] .", []string{
			`<x:s> <x:p> <x:o>`,
			`_:genid_0 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`,
			`<x:a> ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`, `<x:a> <x:q> <x:b>`,
			`_:genid_1 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`, `_:genid_1 <x:q> <x:c>`,
			`_:genid_2 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`}},
		{"annotation in annotation", ":s :p :o {| :q :z {| :r 'y' |} |} .", []string{
			`<x:s> <x:p> <x:o>`,
			`_:genid_0 ` + reifies + ` <<( <x:s> <x:p> <x:o> )>>`,
			`_:genid_0 <x:q> <x:z>`,
			`_:genid_1 ` + reifies + ` <<( _:genid_0 <x:q> <x:z> )>>`,
			`_:genid_1 <x:r> "y"`}},
		{"versions", "VERSION \"1.2\" version '1.2-basic' @version '1.1' . :s :p 'o'@en-GB--ltr .", []string{`<x:s> <x:p> "o"@en-gb--ltr`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(prefix + test.doc), "bytes": iotest.OneByteReader(strings.NewReader(prefix + test.doc)),
			} {
				if got, errs := parse(r, Options{}); len(errs) > 0 || !slices.Equal(got, test.want) {
					t.Errorf("%s: got %q, %v\nwant %q", name, got, errs, test.want)
				}
			}
			// In a graph every triple is in it, also the reifying ones.
			if strings.Contains(test.doc, "VERSION") {
				return
			}
			var want []string
			for _, line := range test.want {
				want = append(want, line+" <x:g>")
			}
			doc := prefix + ":g { " + test.doc + " }"
			if got, errs := parse(strings.NewReader(doc), Options{TriG: true}); len(errs) > 0 || !slices.Equal(got, want) {
				t.Errorf("in a graph: got %q, %v\nwant %q", got, errs, want)
			}
		})
	}
}

// TestReifiedErrors: each error with its place.
func TestReifiedErrors(t *testing.T) {
	for _, test := range []struct{ name, doc, want string }{
		{"term as subject", "<<( <x:s> <x:p> 1 )>> <x:p> 1 .", `1:1: a triple term cannot be a subject`},
		{"term in a reified subject", "<< <<( <x:s> <x:p> 1 )>> <x:p> 1 >> .", `1:4: expected an IRI, a prefixed name, a blank node without properties or << triple >>, found '<'`},
		{"triple as predicate", "<x:s> << <x:s> <x:p> 1 >> 1 .", `1:7: a triple cannot be a predicate`},
		{"reified in a term", "<x:s> <x:p> <<( <x:s> <x:p> << <x:a> <x:b> 1 >> )>> .", `1:29: expected an IRI`},
		{"reified subject in a term", "<x:s> <x:p> <<( << <x:a> <x:b> 1 >> <x:p> 1 )>> .", `1:17: expected an IRI`},
		{"literal subject", "<< 'x' <x:p> 1 >> .", `1:4: expected an IRI`},
		{"list", "<< <x:s> <x:p> (1) >> .", `1:16: expected an IRI`},
		{"properties", "<< <x:s> <x:p> [ <x:p> 1 ] >> .", `1:18: expected ']', found '<'`},
		{"two reifiers", "<< <x:s> <x:p> 1 ~ <x:a> ~ <x:b> >> .", `1:26: expected ">>" or '~' and a reifier at the end of a reified triple, found '~'`},
		{"literal reifier", "<x:s> <x:p> 1 ~ 'x' .", `1:17: expected '.', ';' or ',', found '\''`},
		{"split end", "<x:s> <x:p> <<( <x:s> <x:p> 1 ) >> .", `1:31: expected ")>>" at the end of a triple term, found ')'`},
		{"empty block", "<x:s> <x:p> 1 {| |} .", `1:18: expected a predicate`},
		{"open block", "<x:s> <x:p> 1 {| <x:q> 2 } .", `1:26: expected "|}", ';' or ',', found '}'`},
		{"annotated list item", "<x:s> <x:p> ( 1 {| <x:q> 2 |} ) .", `1:17: expected an object`},
		{"graph name", "<< <x:s> <x:p> 1 >> { }", `1:21: expected a predicate`},
		{"graph name behind GRAPH", "GRAPH << <x:s> <x:p> 1 >> { }", `1:7: a triple cannot be a graph name`},
		{"direction", "<x:s> <x:p> 'x'@en--LTR .", `1:21: expected the base direction ltr or rtl after "--", found "LTR"`},
		{"no direction", "<x:s> <x:p> 'x'@en-- .", `1:21: expected the base direction ltr or rtl after "--", found ""`},
		{"no language", "<x:s> <x:p> 'x'@--ltr .", `1:17: expected a language tag`},
		{"datatype of tags", "<x:s> <x:p> 'x'^^<" + triple.RDFDirLangString + "> .", `needs a language tag`},
		{"version number", "VERSION 1.2", `1:9: expected a version in single or double quotes`},
		{"version in three quotes", "@version '''1.2''' .", `1:10: expected a version in single or double quotes`},
		{"deep subject", strings.Repeat("<<", 1001) + " <x:s>", `1:2001: [ ], ( ), << >> and {| |} nested more than 1000 deep`},
		{"deep annotation", "<x:s> <x:p> 1 " + strings.Repeat("{| <x:q> 1 ", 1001), `1:11015: [ ], ( ), << >> and {| |} nested more than 1000 deep`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, errs := parse(strings.NewReader(test.doc), Options{TriG: true}); len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want) {
				t.Fatalf("got %v\nwant %s", errs, test.want)
			}
		})
	}
}

// TestDeepTripleTerm: nesting of triple terms takes time linear in the size of a term.
func TestDeepTripleTerm(t *testing.T) {
	triple.SetMaxNesting(triple.MaxTermBytes)
	t.Cleanup(func() { triple.SetMaxNesting(0) })
	nested := func(depth int) string {
		return "<x:s> <x:p> " + strings.Repeat("<<( <x:s> <x:p> ", depth) + "1" + strings.Repeat(" )>>", depth) + " ."
	}
	const depth = 300_000
	start := time.Now()
	all, errs := parse(strings.NewReader(nested(depth)), Options{})
	if len(errs) > 0 || len(all) != 1 || strings.Count(all[0], "<<(") != depth {
		t.Fatalf("%d triples, %v", len(all), errs)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("%d levels took %v", depth, took)
	}
	if _, errs = parse(strings.NewReader(nested(triple.MaxTermBytes/12)), Options{}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "longer than 16 MiB") {
		t.Errorf("a term of more than 16 MiB: %v", errs)
	}
	// Two long terms make a triple term that is too long, but a triple that is not.
	long := "<x:" + strings.Repeat("a", triple.MaxTermBytes/2) + ">"
	for _, doc := range []string{"<< " + long + " <x:p> " + long + " >> .", long + " <x:p> " + long + " ~ ."} {
		if _, errs := parse(strings.NewReader(doc), Options{}); len(errs) != 1 || !strings.Contains(errs[0].Error(), "longer than 16 MiB") {
			t.Errorf("a reified triple of more than 16 MiB: %v", errs)
		}
	}
}

// TestReifiedRecovery: a rejected statement with << >> or {| |} ends where it ends.
func TestReifiedRecovery(t *testing.T) {
	const good = " <x:s> <x:p> <x:o> ."
	for _, bad := range []string{
		"<< <x:s> <x:p> \"a > . b\" ~ 1 >> .",
		"<x:s> <x:p> <<( <x:s> <x:p> \"a. b\" ) >> .",
		"<x:s> <x:p> 1 {| <x:q> \"} . {\" ; 1 |} .",
		"<x:s> <x:p> 1 {| 1 |} , 2 .",
	} {
		for _, doc := range []string{bad + good, "<x:g> { " + bad + good + " }"} {
			want := []string{"<x:s> <x:p> <x:o>"}
			if strings.Contains(doc, "<x:g>") {
				want[0] += " <x:g>"
			}
			got, errs := parse(strings.NewReader(doc), Options{TriG: true, KeepGoing: true})
			if len(errs) != 1 || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v", doc, got, errs)
			}
		}
	}
}
