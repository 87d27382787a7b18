// The fuzz test of parser and writer.

package turtle

import (
	"bytes"
	"errors"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// FuzzParse: the parser ends and does not panic, its terms pass their check, and
// what has been parsed comes back from the writer unchanged.
func FuzzParse(f *testing.F) {
	f.Add([]byte("@prefix e: <x:> . e:s a [ e:p (1 2.5 .5e1 true) ] ; e:q \"a\\u00e4\"@de , '''b'''^^e:t ."), true, false)
	f.Add([]byte("<x:g> { <x:s> <x:p> <x:o> . <x:s> } GRAPH _:b { [] <x:p> \"\\x\" . "), true, true)
	f.Add([]byte("<x:s> <x:p> \"a\nb\" .\r<x:s> <x:p> <a b> . # .\n@base <x://y/> . <../z> <#p> <?q> ."), false, true)
	f.Add([]byte("PREFIX e: <x:> VERSION '1.2' << << e:s e:p [] ~ _:r >> a <<( _:b a <<( e:s e:p 'x'@ar--rtl )>> )>> >> e:q 1 {| e:r e:z {| e:q 2 |} ; |} ~ ~ e:i , ( << e:s e:p 3 ~>> ) ."), true, false)
	f.Add([]byte("<x:g> { <x:s> <x:p> 1 {| <x:q> \"} . {\" ; 1 |} . << <x:s> <x:p> \"> . \" ) >> . <x:s> <x:p> <<( <x:s> <x:p> 'x'@en--up )>> . } @version \"1.2\" ."), true, true)
	f.Fuzz(func(t *testing.T, doc []byte, trig, keepGoing bool) {
		opts := Options{TriG: trig, KeepGoing: keepGoing, MaxToken: 1 << 12, MaxDepth: 50, BlankPrefix: "d"}
		var triples []triple.Triple
		errs := 0
		for tr, err := range Parse(bytes.NewReader(doc), opts) {
			if err != nil {
				if errs++; errs > len(doc)+1 {
					t.Fatal("more errors than bytes")
				}
				var syntax *triple.SyntaxError
				if !errors.As(err, &syntax) {
					t.Fatalf("%T: %v", err, err)
				}
				if syntax.Line < 1 || syntax.Column < 1 || syntax.Offset < 0 || syntax.Offset > int64(len(doc)) {
					t.Fatalf("place of %#v", syntax)
				}
				continue
			}
			if err := tr.Check(); err != nil {
				t.Fatalf("%v: %v", tr, err)
			}
			triples = append(triples, tr)
		}
		if errs > 1 && !keepGoing {
			t.Fatal("more than one error")
		}
		text, err := write(triples, WriterOptions{TriG: true, Prefixes: map[string]string{"e": "x:"}})
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for tr, err := range Parse(bytes.NewReader([]byte(text)), Options{TriG: true}) {
			if err != nil || i >= len(triples) || tr != triples[i] {
				t.Fatalf("triple %d comes back as %v, %v from\n%s", i, tr, err, text)
			}
			i++
		}
		if i != len(triples) {
			t.Fatalf("%d of %d triples come back from\n%s", i, len(triples), text)
		}
	})
}
