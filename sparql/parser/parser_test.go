// Tests of texts and their trees.

package parser

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// TestPrinted compares texts with the printed forms of their trees.
func TestPrinted(t *testing.T) {
	const base = "BASE <http://b.example/dir/doc>\n"
	const prefixed = base + "PREFIX e: <http://e.example/>\n"
	for _, test := range []struct{ name, in, want string }{
		{"lists and blank nodes",
			"PREFIX e: <http://e.example/> SELECT*{(1 [e:p e:q]) e:r e:s;a e:C,e:D;;.[] e:p () .[e:p _:x].}",
			prefixed + `SELECT * WHERE {
  _:anon1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> 1 .
  _:anon1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> _:anon2 .
  _:anon3 e:p e:q .
  _:anon2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#first> _:anon3 .
  _:anon2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> .
  _:anon1 e:r e:s .
  _:anon1 a e:C .
  _:anon1 a e:D .
  _:anon4 e:p <http://www.w3.org/1999/02/22-rdf-syntax-ns#nil> .
  _:anon5 e:p _:x .
}
`},
		{"labels that look made", "SELECT * { _:anon1 ?p [] . _:anon2 ?q _:anon2_ }", base + `SELECT * WHERE {
  _:anon1 ?p _:anon2 .
  _:anon2_ ?q _:anon2__ .
}
`},
		{"expressions", "PREFIX e: <http://e.example/> SELECT (1+2*3-4/(5-6)||!(?a&&?b)&&?c+1 NOT IN(-1,- 2) AS ?x) (-?x -1*-2+3 AS ?y) (e:f(DISTINCT ?x,uRi('a')) AS ?z){}",
			prefixed + `SELECT (1 + 2 * 3 - 4 / (5 - 6) || !(?a && ?b) && ?c + 1 NOT IN (-1, - 2) AS ?x) (- ?x - 1 * -2 + 3 AS ?y) (e:f(DISTINCT ?x, IRI("a")) AS ?z) WHERE { }
`},
		{"sums lean left", "ASK{FILTER(1-(2-3)-4=-(5))}", base + `ASK WHERE {
  FILTER (1 - (2 - 3) - 4 = - 5)
}
`},
		{"paths", "PREFIX e: <http://e.example/> ASK{?s ^e:a/(e:b|a)*|!(e:c|^a)/^(e:d/e:e)?|!a ?o,-1}", prefixed + `ASK WHERE {
  ?s ^e:a/(e:b | a)* | !(e:c | ^a)/^(e:d/e:e)? | !(a) ?o .
  ?s ^e:a/(e:b | a)* | !(e:c | ^a)/^(e:d/e:e)? | !(a) -1 .
}
`},
		{"literals keep their form", `ASK{?s ?p 01,+1.50,-.5,1.e0,1E+3,TRUE,'a"\n'@en-GB,"""x"y""",'1'^^<http://www.w3.org/2001/XMLSchema#integer>,'x'^^<http://www.w3.org/2001/XMLSchema#integer>}`, base + `ASK WHERE {
  ?s ?p 01 .
  ?s ?p +1.50 .
  ?s ?p -.5 .
  ?s ?p 1.e0 .
  ?s ?p 1E+3 .
  ?s ?p true .
  ?s ?p "a\"\n"@en-gb .
  ?s ?p "x\"y" .
  ?s ?p 1 .
  ?s ?p "x"^^<http://www.w3.org/2001/XMLSchema#integer> .
}
`},
		{"a query of everything", `PREFIX e: <x:e#> PREFIX e: <../e#> SELECT DISTINCT ?a (COUNT(*) AS ?n) (group_concat(DISTINCT ?b ; separator=",") AS ?g)
FROM <a> FROM NAMED e:g WHERE { ?a e:p ?b FILTER regex(?b,"x","i") . OPTIONAL { ?a ?q 1 FILTER(?q != e:q) } MINUS { ?a e:r ?b }
{ ?a e:x 1 } UNION { } UNION { { SELECT * { ?a ?p ?o } VALUES ?p { UNDEF e:p } } } GRAPH ?g1 { } SERVICE SILENT e:s { ?a ?b ?c }
BIND(IF(BOUND(?b),1,2)AS ?k) VALUES (?v ?w) { (1 UNDEF) ("a"@de e:w) } FILTER NOT EXISTS { ?a e:no [] } }
GROUP BY ?a (?b AS ?bb) str(?b) (1+1) HAVING (COUNT(?b) > 1) MAX(?b) ORDER BY DESC(?n) ?a str(?a) OFFSET 5 LIMIT 99999999999999999999 VALUES () { () }`,
			`BASE <http://b.example/dir/doc>
PREFIX e: <http://b.example/e#>
SELECT DISTINCT ?a (COUNT(*) AS ?n) (GROUP_CONCAT(DISTINCT ?b; SEPARATOR = ",") AS ?g)
FROM <http://b.example/dir/a>
FROM NAMED e:g
WHERE {
  ?a e:p ?b .
  FILTER REGEX(?b, "x", "i")
  OPTIONAL {
    ?a ?q 1 .
    FILTER (?q != e:q)
  }
  MINUS {
    ?a e:r ?b .
  }
  {
    ?a e:x 1 .
  } UNION { } UNION {
    {
      SELECT * WHERE {
        ?a ?p ?o .
      }
      VALUES (?p) {
        (UNDEF)
        (e:p)
      }
    }
  }
  GRAPH ?g1 { }
  SERVICE SILENT e:s {
    ?a ?b ?c .
  }
  BIND(IF(BOUND(?b), 1, 2) AS ?k)
  VALUES (?v ?w) {
    (1 UNDEF)
    ("a"@de e:w)
  }
  FILTER NOT EXISTS {
    ?a e:no _:anon1 .
  }
}
GROUP BY ?a (?b AS ?bb) STR(?b) (1 + 1)
HAVING (COUNT(?b) > 1) (MAX(?b))
ORDER BY DESC(?n) ASC(?a) ASC(STR(?a))
LIMIT 9223372036854775807
OFFSET 5
VALUES () {
  ()
}
`},
		{"construct", "PREFIX e: <http://e.example/> CONSTRUCT WHERE { ?s e:p [] } LIMIT 0", prefixed + `CONSTRUCT {
  ?s e:p _:anon1 .
}
WHERE {
  ?s e:p _:anon1 .
}
LIMIT 0
`},
		{"describe", "DESCRIBE ?x <y> FROM <z>", base + "DESCRIBE ?x <http://b.example/dir/y>\nFROM <http://b.example/dir/z>\n"},
		{"codepoint escapes", `ASK{?s <\u0061:b>"\U0001F46a\\u0041\u0022\u005Cn".}`, base + `ASK WHERE {
  ?s <a:b> "👪\\u0041\"\\n" .
}
`},
		{"triple terms", `VERSION "1.2" ASK{?s ?p<<(<x:s>a<<(?t<x:q>"x"@ar--rtl)>>)>>,<<(<x:s><x:p>1)>>,<<(_:b<x:p>[])>>}`, base + `ASK WHERE {
  ?s ?p <<( <x:s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <<( ?t <x:q> "x"@ar--rtl )>> )>> .
  ?s ?p <<( <x:s> <x:p> 1 )>> .
  ?s ?p <<( _:b <x:p> _:anon1 )>> .
}
`},
		{"reified triples", `ASK{<<?s?p<<<x:a><x:b>1~?r>>>><x:q>2.<<<x:a><x:b>3>>}`, base + `ASK WHERE {
  ?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <x:a> <x:b> 1 )>> .
  _:anon1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s ?p ?r )>> .
  _:anon1 <x:q> 2 .
  _:anon2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <x:a> <x:b> 3 )>> .
}
`},
		{"annotations", `ASK{?s a ?o~?r{|<x:p>1;<x:q>/<x:z>2|}{|<x:p>3{|?x?y|}|}~<x:i>~,?u}`, base + `ASK WHERE {
  ?s a ?o .
  ?r <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ?o )>> .
  ?r <x:p> 1 .
  ?r <x:q>/<x:z> 2 .
  _:anon1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ?o )>> .
  _:anon1 <x:p> 3 .
  _:anon2 <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( _:anon1 <x:p> 3 )>> .
  _:anon2 ?x ?y .
  <x:i> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ?o )>> .
  _:anon3 <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ?s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ?o )>> .
  ?s a ?u .
}
`},
		{"triple terms in expressions", `ASK{BIND(<<(?s a<<(<x:s>?p 1)>>)>>AS ?t)FILTER(!!isTRIPLE(?t))VALUES ?v{<<(<x:s>a<<(<x:s><x:p>"x")>>)>>}}`, base + `ASK WHERE {
  BIND(TRIPLE(?s, <http://www.w3.org/1999/02/22-rdf-syntax-ns#type>, TRIPLE(<x:s>, ?p, 1)) AS ?t)
  FILTER (!(!isTRIPLE(?t)))
  VALUES (?v) {
    (<<( <x:s> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <<( <x:s> <x:p> "x" )>> )>>)
  }
}
`},
		{"reified triples in data", `INSERT DATA{<x:s><x:p>1{|<x:q>_:b|}.<<_:b<x:p><<(_:c<x:p>2)>>~<x:r>>>}`, `INSERT DATA {
  <x:s> <x:p> 1 .
  _:anon1 <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <x:s> <x:p> 1 )>> .
  _:anon1 <x:q> _:b .
  <x:r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( _:b <x:p> <<( _:c <x:p> 2 )>> )>> .
}`},
		{"names", `PREFIX : <http://e.example/> PREFIX a.b-c: <http://e.example/n/> ASK{:a\~b:c%20.x a.b-c:1 :.}`, `BASE <http://b.example/dir/doc>
PREFIX : <http://e.example/>
PREFIX a.b-c: <http://e.example/n/>
ASK WHERE {
  <http://e.example/a~b:c%20.x> <http://e.example/n/1> <http://e.example/> .
}
`},
		{"less and IRI", "ASK{FILTER(?a< ?b&&?c>?d)FILTER(1<2)FILTER(?a<=<a:b>)}", base + `ASK WHERE {
  FILTER (?a < ?b && ?c > ?d)
  FILTER (1 < 2)
  FILTER (?a <= <a:b>)
}
`},
		{"marks without spaces", "ASK{FILTER(true-true||1-1)?s?p?o}", base + `ASK WHERE {
  FILTER (true - true || 1 - 1)
  ?s ?p ?o .
}
`},
		{"updates", `PREFIX e: <http://e.example/> INSERT DATA { _:a e:p 1 . GRAPH e:g { e:s e:p 2,3 } e:s e:p 4 } ; BASE <http://c.example/>
DELETE DATA { GRAPH <g> { } } ; DELETE WHERE { ?s e:p 1 ; e:q 2 GRAPH ?g { ?s ?p ?o } } ;
WITH <w> DELETE { ?s ?p ?o } INSERT { GRAPH e:g { ?s ?p [] } } USING <u> USING NAMED <n> WHERE { ?s ?p ?o } ;
LOAD SILENT <l> INTO GRAPH <i> ; LOAD <l> ; CLEAR SILENT NAMED ; DROP ALL ; CREATE GRAPH <c> ; ADD <a> TO DEFAULT ; MOVE SILENT GRAPH <a> TO <b> ; COPY DEFAULT TO <b>;`,
			`PREFIX e: <http://e.example/>
INSERT DATA {
  _:a e:p 1 .
  GRAPH e:g {
    e:s e:p 2 .
    e:s e:p 3 .
  }
  e:s e:p 4 .
} ;
DELETE DATA {
} ;
BASE <http://c.example/>
DELETE {
  ?s e:p 1 .
  ?s e:q 2 .
  GRAPH ?g {
    ?s ?p ?o .
  }
}
WHERE {
  ?s e:p 1 .
  ?s e:q 2 .
  GRAPH ?g {
    ?s ?p ?o .
  }
} ;
WITH <http://c.example/w>
DELETE {
  ?s ?p ?o .
}
INSERT {
  GRAPH e:g {
    ?s ?p _:anon1 .
  }
}
USING <http://c.example/u>
USING NAMED <http://c.example/n>
WHERE {
  ?s ?p ?o .
} ;
LOAD SILENT <http://c.example/l> INTO GRAPH <http://c.example/i> ;
LOAD <http://c.example/l> ;
CLEAR SILENT NAMED ;
DROP ALL ;
CREATE GRAPH <http://c.example/c> ;
ADD GRAPH <http://c.example/a> TO DEFAULT ;
MOVE SILENT GRAPH <http://c.example/a> TO GRAPH <http://c.example/b> ;
COPY DEFAULT TO GRAPH <http://c.example/b>`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := printed(t, test.in); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestPattern(t *testing.T) {
	g, err := ParsePattern("?s <x:p> ?o . ?o a <x:C> ; rdfs:label 'x'^^xsd:token .", Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{
  ?s <x:p> ?o .
  ?o a <x:C> .
  ?o <http://www.w3.org/2000/01/rdf-schema#label> "x"^^<http://www.w3.org/2001/XMLSchema#token> .
}`
	if g.String() != want {
		t.Errorf("got\n%s\nwant\n%s", g, want)
	}
	if g, err := ParsePattern(" # nothing", Options{}); err != nil || len(g.Elements) != 0 {
		t.Errorf("nothing gives %v, %v", g, err)
	}
	for text, want := range map[string]string{
		"?s <x:p>+ ?o":              "1:9: expected a variable or a term, found '+'",
		"?s ?p":                     "1:6: expected a variable or a term, found the end of the text",
		"?s ?p ?o FILTER(?o)":       "1:10: expected the end of the text, found FILTER",
		"?s ?p ?o . }":              "1:12: expected the end of the text, found '}'",
		"?s p:q ?o":                 `1:4: prefix "p:" is not declared`,
		"<s> ?p ?o":                 "1:1: <s> is a relative IRI, and there is no BASE",
		"?s ?p \"\xff\"":            "1:8: invalid UTF-8 (byte 0xFF)",
		"?s ?p 'x'^^rdf:langString": "1:7: malformed term: a literal of datatype <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString> without a language tag",
	} {
		if _, err := ParsePattern(text, Options{}); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestPositions(t *testing.T) {
	q, err := ParseQuery("# é\r\nSELECT *\rWHERE {\n <x:\\u0061> ?p 'ü', 1\n FILTER ( ?o = '\\U00000031')}", Options{Prefixes: []ast.Prefix{{Name: "é", IRI: "x:"}}})
	if err != nil {
		t.Fatal(err)
	}
	triples := q.Where.Elements[0].(*ast.Triples)
	filter := q.Where.Elements[1].(*ast.Filter)
	equal := filter.Expr.(*ast.Binary)
	for i, test := range []struct{ got, want ast.Pos }{
		{q.Pos, ast.Pos{Offset: 6, Line: 2, Column: 1}},
		{q.Where.Pos, ast.Pos{Offset: 21, Line: 3, Column: 7}},
		{triples.Pos, ast.Pos{Offset: 24, Line: 4, Column: 2}},
		{triples.Patterns[0].Object.Pos, ast.Pos{Offset: 38, Line: 4, Column: 16}},
		{triples.Patterns[1].Object.Pos, ast.Pos{Offset: 44, Line: 4, Column: 21}},
		{filter.Pos, ast.Pos{Offset: 47, Line: 5, Column: 2}},
		{equal.Pos, ast.Pos{Offset: 59, Line: 5, Column: 14}},
		{equal.Right.Position(), ast.Pos{Offset: 61, Line: 5, Column: 16}},
	} {
		if test.got != test.want {
			t.Errorf("place %d: got %+v, want %+v", i, test.got, test.want)
		}
	}
}

// TestLimits: beyond each limit an error must name it, and just below it the text must parse.
func TestLimits(t *testing.T) {
	nested := func(open, inner, shut string) func(n int) string {
		return func(n int) string {
			return "SELECT * {" + strings.Repeat(open, n) + inner + strings.Repeat(shut, n) + "}"
		}
	}
	for _, test := range []struct {
		name string
		text func(n int) string
		opts Options
		fits int
		want string
	}{
		{"bytes", func(n int) string { return "ASK{}" + strings.Repeat(" ", n-5) }, Options{MaxBytes: 100}, 100, "the text has 101 bytes, the limit is 100"},
		{"tokens", func(n int) string { return "ASK{" + strings.Repeat("{}", n) + "}" }, Options{MaxTokens: 103}, 50, "the text has more than 103 tokens"},
		{"groups", nested("{", "", "}"), Options{MaxDepth: 100}, 99, "nested deeper than 100"},
		{"parentheses", func(n int) string { return "ASK{FILTER" + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + "}" }, Options{MaxDepth: 100}, 98, "nested deeper than 100"},
		{"calls", func(n int) string {
			return "ASK{BIND(" + strings.Repeat("STR(", n) + "1" + strings.Repeat(")", n) + "AS ?x)}"
		}, Options{MaxDepth: 100}, 98, "nested deeper than 100"},
		{"triple terms", func(n int) string {
			return "ASK{?s ?p " + strings.Repeat("<<(?s ?p ", n) + "1" + strings.Repeat(")>>", n) + "}"
		}, Options{}, 100, "triple terms are nested more than 100 deep"},
		{"reified triples", nested("<<", "?s", " ?p 1>>"), Options{MaxDepth: 100}, 99, "nested deeper than 100"},
		{"annotations", func(n int) string {
			return "ASK{?s " + strings.Repeat("?p 1{|", n) + "?p 1" + strings.Repeat("|}", n) + "}"
		}, Options{MaxDepth: 100}, 99, "nested deeper than 100"},
		{"triple terms of expressions", func(n int) string {
			return "ASK{BIND(" + strings.Repeat("<<(?s ?p ", n) + "1" + strings.Repeat(")>>", n) + "AS ?x)}"
		}, Options{}, 100, "triple terms are nested more than 100 deep"},
		{"triple terms of data", func(n int) string {
			return "ASK{VALUES ?x{" + strings.Repeat("<<(<x:s><x:p>", n) + "1" + strings.Repeat(")>>", n) + "}}"
		}, Options{}, 100, "triple terms are nested more than 100 deep"},
		{"triple terms with a reifier", func(n int) string {
			return "ASK{?s ?p " + strings.Repeat("<<(?s ?p ", n-1) + "1" + strings.Repeat(")>>", n-1) + " ~ ?r}"
		}, Options{}, 100, "triple terms are nested more than 100 deep"},
		{"negations", func(n int) string { return "ASK{FILTER(" + strings.Repeat("!", n) + "1)}" }, Options{MaxDepth: 100}, 97, "nested deeper than 100"},
		{"lists", nested("(", "1", ")"), Options{MaxDepth: 100}, 99, "nested deeper than 100"},
		{"property lists", nested("[<x:p> ", "1", "]"), Options{MaxDepth: 100}, 99, "nested deeper than 100"},
		{"paths", func(n int) string {
			return "ASK{?s " + strings.Repeat("(", n) + "<x:p>" + strings.Repeat(")", n) + "?o}"
		}, Options{MaxDepth: 100}, 99, "nested deeper than 100"},
		{"exists", nested("FILTER EXISTS{", "", "}"), Options{MaxDepth: 101}, 50, "nested deeper than 101"},
		{"subqueries", nested("{SELECT*{", "", "}}"), Options{MaxDepth: 101}, 50, "nested deeper than 101"},
		{"patterns", nested("", "", "?s ?p ?o."), Options{MaxNodes: 101}, 100, "more than 101 patterns"},
		{"operators", func(n int) string { return "ASK{FILTER(1" + strings.Repeat("+1", n) + ")}" }, Options{MaxNodes: 104}, 50, "more than 104 patterns"},
		{"unions", nested("", "{}", "UNION{}"), Options{MaxNodes: 103}, 100, "more than 103 patterns"},
		{"names", func(n int) string {
			var b strings.Builder
			b.WriteString("PREFIX p: <x:" + strings.Repeat("x", 100) + "> ASK{?s ?p p:")
			for i := range n {
				fmt.Fprintf(&b, ",p:%d", i)
			}
			return b.String() + "}"
		}, Options{MaxBytes: 1000}, 8, "expand to more than 1000 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := ParseQuery(test.text(test.fits), test.opts); err != nil {
				t.Errorf("%d: %v", test.fits, err)
			}
			var syntax *triple.SyntaxError
			_, err := ParseQuery(test.text(test.fits+1), test.opts)
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%d: got %v, want %s", test.fits+1, err, test.want)
			}
			// Far beyond the limit the stack does not overflow either.
			if _, err := ParseQuery(test.text(200_000), Options{}); err == nil && test.name != "bytes" && test.name != "tokens" {
				t.Error("200,000 give no error")
			}
		})
	}
}

// Data does not count as patterns.
func TestLargeData(t *testing.T) {
	text := "INSERT DATA{<x:s><x:p>1" + strings.Repeat(",1", 200_000) + "}"
	if u, err := ParseUpdate(text, Options{}); err != nil || len(u.Operations[0].(*ast.InsertData).Triples) != 200_001 {
		t.Errorf("%v", err)
	}
	text = "ASK{VALUES ?x{" + strings.Repeat("1 ", 200_000) + "}}"
	if _, err := ParseQuery(text, Options{}); err != nil {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	for _, opts := range []Options{
		{Base: "relative"}, {MaxBytes: -1}, {MaxTokens: -1}, {MaxDepth: -1}, {MaxNodes: -1}, {MaxBytes: 1 << 40},
		{Prefixes: []ast.Prefix{{Name: "a b", IRI: "x:"}}}, {Prefixes: []ast.Prefix{{Name: "a", IRI: "x"}}},
	} {
		if _, err := ParseQuery("ASK{}", opts); err == nil {
			t.Errorf("%+v: no error", opts)
		}
	}
}

// TestLinear has long texts. They take minutes if the time grows with the square of the length.
func TestLinear(t *testing.T) {
	const n = 300_000
	opts := Options{MaxNodes: 10 * n, MaxDepth: 10 * n}
	for name, text := range map[string]string{
		"words":     "ASK { FILTER(true" + strings.Repeat("-true", n) + ") }",
		"dots":      "ASK { ?s ?p a" + strings.Repeat(".a", n) + " }",
		"less":      "ASK { FILTER(1" + strings.Repeat("<", n) + ") }",
		"less name": "ASK { FILTER(" + strings.Repeat("?x<?y&&", n) + "1) }",
		"quotes":    "ASK { ?s ?p " + strings.Repeat(`'\\'`, n) + " }",
		"long":      "ASK { ?s ?p \"\"\"" + strings.Repeat(`""\"`, n) + " }",
		"escapes":   strings.Repeat(`\u0020`, n) + "ASK { }",
		"comments":  strings.Repeat("#\n", n) + "ASK { }",
		"prefixes":  strings.Repeat("PREFIX a: <a:> PREFIX b: <b:> ", n/10) + "ASK { ?s ?p a:b }",
		"groups":    "ASK " + strings.Repeat("{", n) + strings.Repeat("}", n),
		"binds":     "ASK { ?s ?p ?o BIND(1 AS ?x) " + strings.Repeat("VALUES ?x { 1 } ", n/10) + "}",
		"labels":    "ASK { " + strings.Repeat("_:anon1 ?p [] . ", n/10) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseQuery(text, opts)
			t.Log(err)
		})
	}
}
