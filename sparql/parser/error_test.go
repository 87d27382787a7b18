// Tests of errors and their places.

package parser

import (
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// TestErrors: the whole of each message, with its place.
func TestErrors(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"", "1:1: expected SELECT, CONSTRUCT, ASK or DESCRIBE, found the end of the text"},
		{"SELECT", "1:7: expected '*', a variable or '(' after SELECT, found the end of the text"},
		{"SELECT ?x", "1:10: expected WHERE or '{', found the end of the text"},
		{"SELECT ?x {\n ?x <x:p> }", "2:11: expected a variable or a term, found '}'"},
		{"SELECT * { ?s ?p ?o", "1:20: expected a pattern or '}', found the end of the text"},
		{"SELECT * { ?s ?p ?o ?x }", "1:21: expected '.' or '}' after a triple pattern, found ?x"},
		{"SELECT * { FOO { } }", "1:12: expected a pattern (a triple, '{', OPTIONAL, LATERAL, MINUS, GRAPH, SERVICE, FILTER, BIND, VALUES) or '}', found FOO"},
		{"SELECT * { } LIMIT x", "1:20: expected a number after LIMIT, found x"},
		{"SELECT * { } LIMIT -1", "1:20: expected a number after LIMIT, found -1"},
		{"SELECT * { } LIMIT 1 LIMIT 2", "1:22: expected the end of the text, found LIMIT"},
		{"ASK { ?s <http://a b> 1 }", "1:10: expected a predicate, found '<' that begins no IRI: up to the closing '>' an IRI has no space, control character or any of <\"{}|^`\\"},
		{"ASK { ?s ?p <x> }", "1:13: <x> is a relative IRI, and there is no BASE"},
		{"ASK { ?s ?p e:x }", `1:13: prefix "e:" is not declared`},
		{"PREFIX e <x:>", "1:8: expected a prefix with its colon, found e"},
		{"PREFIX e:f <x:>", "1:8: expected a prefix with its colon, found e:f"},
		{"BASE x:", "1:6: expected the base as <IRI>, found x:"},
		{"ASK { ?s ?p 'x }", "1:13: this string has no closing ' on its line (a string of several lines has three quotes)"},
		{"ASK { ?s ?p '''x }", "1:13: this string has no closing '''"},
		{`ASK { ?s ?p "a\qb" }`, `1:15: bad escape in a string: expected \t \b \n \r \f \" \' \\, \uXXXX or \UXXXXXXXX`},
		{`ASK { ?s ?p "a\uD83Db" }`, `1:15: bad escape: expected \uXXXX or \UXXXXXXXX that names a Unicode character (surrogates are none, not even in pairs)`},
		{`ASK { ?s ?p "\u0022 }`, "1:13: this string has no closing \" on its line (a string of several lines has three quotes)"},
		{`ASK { ?s ?p\u0071 1 }`, `1:12: found a backslash: escapes like \uXXXX may only be inside of an <IRI> or a string`},
		{`ASK { ?s <x:\t> 1 }`, `1:13: bad escape in an IRI: expected \uXXXX or \UXXXXXXXX`},
		{`ASK { ?s <x:\u0020> 1 }`, `1:10: character ' ' is not allowed in an IRI: <x: >`},
		{`VERSION """1.2""" ASK { }`, `1:9: expected the version as a string, such as "1.2", found the string "1.2"`},
		{`VERSION "1.3" ASK { }`, `1:9: there is no version "1.3"; expected "1.1", "1.2-basic" or "1.2"`},
		{"ASK { <<( ?s ?p ?o )>> }", "1:24: expected a predicate, found '}'"},
		{"ASK { ?s ?p <<( ?s ?p ?o >> }", "1:26: expected ')>>', found '>>'"},
		{"ASK { ?s ?p <<( ?s <x:p>/<x:q> ?o )>> }", "1:25: expected a variable or a term, found '/'"},
		{"ASK { ?s ?p <<( (1) ?p ?o )>> }", "1:17: expected a variable or a term: a triple term or reified triple has no list inside, found '('"},
		{"ASK { ?s ?p <<( [ <x:p> 1 ] ?p ?o )>> }", "1:19: expected ']': a triple term or reified triple has no property list inside, found <x:p>"},
		{"ASK { ?s ?p <<( << ?s ?p ?o >> ?p ?o )>> }", "1:17: expected a variable or a term: a triple term has no reified triple inside, found '<<'"},
		{"ASK { ?s <x:p>+ ?o {| ?q ?z |} }", "1:20: found '{|' behind a triple with a property path; expected an IRI or a variable as predicate, because only a triple has reifiers and annotations"},
		{"ASK { BIND(<< ?s ?p ?o >> AS ?t) }", "1:12: a reified triple << s p o >> is no expression; expected a triple term <<( s p o )>>"},
		{"ASK { BIND(<<( 1 ?p ?o )>> AS ?t) }", "1:16: expected a variable or an IRI (the function TRIPLE takes any expression), found 1"},
		{"ASK { VALUES ?t { <<( <x:s> <x:p> UNDEF )>> } }", "1:35: expected an IRI, a literal or a triple term, found UNDEF"},
		{"ASK { VALUES ?t { <<( _:s <x:p> 1 )>> } }", "1:23: expected an IRI as the subject of a triple term in VALUES, found _:s"},
		{`ASK { ?s ?p "x"@en--up }`, `1:13: malformed term: the base direction "up" of the language tag "en--up" is not ltr or rtl`},
		{`ASK { ?s ?p "x"@zh-classical }`, `1:13: malformed term: the language tag "zh-classical" is not well-formed, because "classical" has more than 8 characters`},
		{`ASK { ?s ?p "x"@en-- }`, `1:16: expected a base direction, ltr or rtl, after '@en--'`},
		{"ASK { ?s ?p $ }", "1:13: expected a variable's name after '$'"},
		{"ASK { ?s ?p 1 ; }  x", "1:20: expected the end of the text, found x"},
		{"ASK { ?s ?p 1 & }", "1:15: found '&', expected '&&'"},
		{"ASK { ?s ?p ~ }", "1:13: expected a variable or a term, found '~'"},
		{"ASK { ?s ?p e:a%2 }", `1:16: bad escape in a prefixed name: expected %HH (two hexadecimal digits), or a backslash and one of _~.-!$&'()*+,;=/?#@%`},
		{"ASK { ?s ?p _: }", "1:13: expected a letter, a digit or '_' after '_:'"},
		{"ASK { ?s ?p 'x'@1 }", "1:16: expected a language tag after '@'"},
		{"ASK { FILTER(1 < 2 < 3) }", "1:20: expected ')', found '<' that begins no IRI: up to the closing '>' an IRI has no space, control character or any of <\"{}|^`\\"},
		{"ASK { FILTER(1 +) }", "1:17: expected an expression, found ')'"},
		{"ASK { FILTER 1 }", "1:14: expected '(' or a function call after FILTER, found 1"},
		{"ASK { FILTER <x:f> }", "1:20: expected '(' with the arguments of the function, found '}'"},
		{"ASK { FILTER(STRLEN(?a, ?b)) }", "1:23: expected ')': STRLEN takes 1 argument, found ','"},
		{"ASK { FILTER(SUBSTR(?a)) }", "1:23: expected ',' and another argument: SUBSTR takes 2 or 3 arguments, found ')'"},
		{"ASK { FILTER(SUBSTR(1,2,3,4)) }", "1:26: expected ')': SUBSTR takes 2 or 3 arguments, found ','"},
		{"ASK { FILTER(BOUND(1)) }", "1:20: expected a variable, which is all that BOUND takes, found 1"},
		{"ASK { FILTER(BOUND(?a + 1)) }", "1:23: BOUND takes a variable only"},
		{"ASK { FILTER(?a IN 1) }", "1:20: expected '(', found 1"},
		{"ASK { FILTER(COUNT(?a) > 1) }", "1:14: found the aggregate COUNT: aggregates stand only in SELECT, HAVING and ORDER BY"},
		{"SELECT (SUM(COUNT(?a)) AS ?x) {}", "1:13: found the aggregate COUNT inside an aggregate, expected an expression without one"},
		{"SELECT * { } GROUP BY (COUNT(?a) AS ?x)", "1:24: found the aggregate COUNT: aggregates stand only in SELECT, HAVING and ORDER BY"},
		{"SELECT (1 AS ?x) { FILTER EXISTS { BIND(MAX(?y) AS ?z) } }", "1:41: found the aggregate MAX: aggregates stand only in SELECT, HAVING and ORDER BY"},
		{"SELECT * { ?s ?p ?o } GROUP BY ?s", "1:1: SELECT * cannot be grouped, expected the keys and aggregates by name"},
		{"SELECT ?p { ?s ?p ?o } GROUP BY ?s", "1:8: ?p is neither a key of GROUP BY nor in an aggregate"},
		{"SELECT (?s + 1 AS ?x) { ?s ?p ?o } GROUP BY (?s + 1)", "1:9: ?s is neither a key of GROUP BY nor in an aggregate; what GROUP BY computes has to be named, as in GROUP BY (YEAR(?date) AS ?year)"},
		{"SELECT (1 AS ?s) { ?s ?p ?o }", "1:14: ?s is in scope already, expected a new variable after AS"},
		{"SELECT (1 AS ?x) (2 AS ?x) { }", "1:24: ?x is in scope already, expected a new variable after AS"},
		{"SELECT ?y { ?s ?p ?o } GROUP BY (?o AS ?s) (1 AS ?y)", "1:40: ?s is in scope already, expected a new variable after AS"},
		{"ASK { ?s ?p ?o BIND(1 AS ?o) }", "1:26: ?o is in scope already: BIND needs a variable that the group has not used before it"},
		{"ASK { VALUES (?x ?y) { (1) } }", "1:24: this row of VALUES has 1 values, expected 2, one for each variable"},
		{"ASK { VALUES (?x) { (1 2 3) } }", "1:21: this row of VALUES has 2 values or more, expected 1, one for each variable"},
		{"ASK { VALUES (?x ?x) { } }", "1:18: ?x stands twice in VALUES"},
		{"ASK { VALUES ?x { _:a } }", "1:19: expected an IRI, a literal, a triple term or UNDEF, found _:a"},
		{"ASK { _:a ?p 1 OPTIONAL { } _:a ?q 2 }", "1:29: the blank node label _:a stands in another basic graph pattern already; expected a variable, or a label of its own"},
		{"ASK { _:a ?p 1 FILTER EXISTS { _:a ?q 2 } }", "1:32: the blank node label _:a stands in another basic graph pattern already; expected a variable, or a label of its own"},
		{"ASK { ?s <x:p>*+ ?o }", "1:16: expected a variable or a term, found '+'"},
		{"ASK { ?s !<x:p>/ ?o }", "1:18: expected a predicate, '^', '!' or '(', found ?o"},
		{"CONSTRUCT { ?s <x:p>/<x:q> ?o } { }", "1:21: expected a variable or a term, found '/'"},
		{"CONSTRUCT WHERE { ?s ?p ?o FILTER(?o) }", "1:28: expected '}', found FILTER"},
		{"ASK { [] . }", "1:10: expected a predicate, found '.'"},
		{"ASK { () . }", "1:10: expected a predicate, found '.'"},
		{"ASK { GRAPH _:g { } }", "1:13: expected a variable or the graph's IRI, found _:g"},
		{"ASK { SELECT * { } }", ""},
		{"ASK { } # \xff", "1:11: invalid UTF-8 (byte 0xFF)"},
		{"ASK {}\nVALUES\n  3", "3:3: expected a variable or '(' after VALUES, found 3"},
	} {
		_, err := ParseQuery(test.in, Options{})
		checkError(t, test.in, err, test.want)
	}
}

func TestUpdateErrors(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"INSERT", "1:7: expected '{', found the end of the text"},
		{"SELECT * { }", "1:1: expected an operation (INSERT, DELETE, WITH, LOAD, CLEAR, DROP, CREATE, ADD, MOVE, COPY), found SELECT"},
		{"INSERT DATA { ?s ?p ?o }", "1:15: found ?s, expected a term: data has no variables"},
		{"INSERT DATA { GRAPH ?g { } }", "1:21: found ?g, expected a term: data has no variables"},
		{"INSERT DATA { <x:s> ^<x:p> 1 }", "1:21: expected a predicate, found '^'"},
		{"INSERT DATA { _:a <x:p> 1 } ; INSERT DATA { _:a <x:p> 1 }", "1:45: the blank node label _:a stands in another INSERT DATA already; expected a label of its own"},
		{"DELETE DATA { _:a <x:p> 1 }", "1:15: DELETE DATA has no blank nodes (lists and reifiers without a name are some), expected another term"},
		{"DELETE { ?s ?p [] } WHERE { }", "1:16: DELETE has no blank nodes (lists and reifiers without a name are some), expected another term"},
		{"DELETE { << ?s ?p ?o >> <x:p> 1 } WHERE { }", "1:10: DELETE has no blank nodes (lists and reifiers without a name are some), expected another term"},
		{"DELETE DATA { <x:s> <x:p> 1 ~ }", "1:29: DELETE DATA has no blank nodes (lists and reifiers without a name are some), expected another term"},
		{"INSERT DATA { <x:s> <x:p> <<( ?s <x:p> 1 )>> }", "1:31: found ?s, expected a term: data has no variables"},
		{`INSERT DATA { <x:s> <x:p> <<( "lit" <x:p> 1 )>> }`, "1:27: a triple term: malformed term: the subject is a literal, not an IRI or a blank node"},
		{`INSERT DATA { <x:s> <x:p> <<( <x:s> <x:p> <<( 1 <x:p> 1 )>> )>> }`, "1:43: a triple term: malformed term: the subject is a literal, not an IRI or a blank node"},
		{`DELETE DATA { << 1 <x:p> 1 ~ <x:r> >> <x:p> 1 }`, "1:18: a triple term: malformed term: the subject is a literal, not an IRI or a blank node"},
		{"DELETE WHERE { ?s ?p (1) }", "1:22: DELETE WHERE has no blank nodes (lists and reifiers without a name are some), expected another term"},
		{"DELETE { } INSERT { } { }", "1:23: expected WHERE, found '{'"},
		{"INSERT { _:a ?p 1 } WHERE { _:a ?p 1 } ; INSERT { _:a ?p 1 } WHERE { _:a ?p 1 }", "1:70: the blank node label _:a stands in another basic graph pattern already; expected a variable, or a label of its own"},
		{"WITH <x:g> WHERE { }", "1:12: expected DELETE or INSERT, found WHERE"},
		{"CLEAR <x:g>", "1:7: expected GRAPH, DEFAULT, NAMED or ALL, found <x:g>"},
		{"ADD NAMED TO DEFAULT", "1:5: expected GRAPH, a graph's IRI or DEFAULT, found NAMED"},
		{"CREATE <x:g>", "1:8: expected GRAPH, found <x:g>"},
		{"LOAD <x:l> INTO <x:g>", "1:17: expected GRAPH, found <x:g>"},
		{"DROP ALL DROP ALL", "1:10: expected ';' before another operation, or the end of the text, found DROP"},
		{"DROP ALL ;; DROP ALL", "1:11: expected an operation (INSERT, DELETE, WITH, LOAD, CLEAR, DROP, CREATE, ADD, MOVE, COPY), found ';'"},
		{"DELETE DATA { { } }", "1:15: expected a triple, GRAPH or '}', found '{'"},
		{"INSERT DATA { GRAPH <x:g> { GRAPH <x:h> { } } }", "1:29: expected '.', ',', ';' or '}' after a triple, found GRAPH"},
	} {
		_, err := ParseUpdate(test.in, Options{})
		checkError(t, test.in, err, test.want)
	}
}

func checkError(t *testing.T, text string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return
	}
	var syntax *triple.SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("%s: got %v, want %s", text, err, want)
		return
	}
	if err.Error() != want {
		t.Errorf("%s:\n got %v\nwant %s", text, err, want)
	}
	// In these texts a line has no characters above ASCII.
	lines := strings.SplitAfter(text, "\n")
	if before := len(strings.Join(lines[:syntax.Line-1], "")); int(syntax.Offset) != before+syntax.Column-1 {
		t.Errorf("%s: offset %d of line %d, column %d", text, syntax.Offset, syntax.Line, syntax.Column)
	}
}
