// Tests of built-in functions.

package expr

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/triple"
)

func TestTermFunctions(t *testing.T) {
	runTable(t, []testCase{
		{"isIRI", `<http://a/>`, `true`}, {"isIRI", `"http://a/"`, `false`}, {"isIRI", `_:b`, `false`}, {"isIRI", `unbound`, `error`},
		{"isBLANK", `_:b`, `true`}, {"isBLANK", `1`, `false`},
		{"isLITERAL", `"x"`, `true`}, {"isLITERAL", `"x"@en`, `true`}, {"isLITERAL", `1`, `true`}, {"isLITERAL", `<http://a/>`, `false`},
		{"isNUMERIC", `12`, `true`}, {"isNUMERIC", `"12"`, `false`}, {"isNUMERIC", `"12"^^xsd:nonNegativeInteger`, `true`},
		{"isNUMERIC", `"1200"^^xsd:byte`, `false`}, {"isNUMERIC", `<http://a/>`, `false`},
		{"STR", `<http://a/>`, `"http://a/"`}, {"STR", `"01"^^xsd:integer`, `"01"`}, {"STR", `"x"@en`, `"x"`}, {"STR", `_:b`, `error`},
		{"LANG", `"x"@en-GB`, `"en-gb"`}, {"LANG", `1`, `""`}, {"LANG", `<http://a/>`, `error`},
		{"DATATYPE", `"x"`, `<http://www.w3.org/2001/XMLSchema#string>`}, {"DATATYPE", `"x"@en`, `<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>`},
		{"DATATYPE", `"x"^^<http://a/t>`, `<http://a/t>`}, {"DATATYPE", `<http://a/>`, `error`},
		{"IRI", `"rel"`, `<http://base.example/rel>`}, {"IRI", `<http://a/>`, `<http://a/>`}, {"IRI", `"a b"`, `error`}, {"IRI", `"x"@en`, `error`}, {"IRI", `1`, `error`},
		{"STRDT", `"123" xsd:integer`, `123`}, {"STRDT", `"iiii" <http://a/roman>`, `"iiii"^^<http://a/roman>`}, {"STRDT", `"x"@en xsd:string`, `error`}, {"STRDT", `"x" "y"`, `error`},
		{"STRLANG", `"chat" "en"`, `"chat"@en`}, {"STRLANG", `"chat" "EN-gb"`, `"chat"@en-gb`}, {"STRLANG", `"chat" ""`, `error`}, {"STRLANG", `"chat" "a b"`, `error`}, {"STRLANG", `"chat" "zh-classical"`, `error`}, {"STRLANG", `"chat"@fr "en"`, `error`},
		{"sameTerm", `1 1`, `true`}, {"sameTerm", `1 "01"^^xsd:integer`, `false`}, {"sameTerm", `"x"@en "x"@EN`, `true`}, {"sameTerm", `"x"@en--ltr "x"@en`, `false`}, {"sameTerm", `"x"@en--ltr "x"@EN--ltr`, `true`}, {"sameTerm", `unbound 1`, `error`},
		{"BOUND", `unbound`, `false`},
		{"IF", `true 1 2`, `1`}, {"IF", `"" 1 2`, `2`}, {"IF", `error 1 2`, `error`}, {"IF", `true 1 error`, `1`}, {"IF", `<http://a/> 1 2`, `error`},
		{"COALESCE", `unbound error 3`, `3`}, {"COALESCE", `1 error`, `1`}, {"COALESCE", ``, `error`}, {"COALESCE", `error unbound`, `error`},
		{"NOW", ``, `"2026-02-03T04:05:06.7Z"^^xsd:dateTime`},
	})
}

func TestTripleFunctions(t *testing.T) {
	const term, nested = `<<( <http://a/s> <http://a/p> 1 )>>`, `<<( _:b <http://a/p> <<( <http://a/s> <http://a/p> "x"@en )>> )>>`
	runTable(t, []testCase{
		{"TRIPLE", `<http://a/s> <http://a/p> 1`, term}, {"TRIPLE", `_:b <http://a/p> <<( <http://a/s> <http://a/p> "x"@en )>>`, nested},
		{"TRIPLE", `1 <http://a/p> 1`, `error`}, {"TRIPLE", `<http://a/s> _:b 1`, `error`}, {"TRIPLE", `<http://a/s> <http://a/p> unbound`, `error`}, {"TRIPLE", term + ` <http://a/p> 1`, `error`},
		{"SUBJECT", term, `<http://a/s>`}, {"PREDICATE", term, `<http://a/p>`}, {"OBJECT", term, `1`}, {"OBJECT", nested, `<<( <http://a/s> <http://a/p> "x"@en )>>`}, {"SUBJECT", nested, `_:b`},
		{"SUBJECT", `<http://a/s>`, `error`}, {"OBJECT", `1`, `error`}, {"PREDICATE", `unbound`, `error`},
		{"isTRIPLE", term, `true`}, {"isTRIPLE", `1`, `false`}, {"isTRIPLE", `unbound`, `error`}, {"isIRI", term, `false`}, {"isBLANK", term, `false`}, {"isLITERAL", term, `false`}, {"isNUMERIC", term, `false`},
		{"STR", term, `error`}, {"LANG", term, `error`}, {"DATATYPE", term, `error`}, {"LANGDIR", term, `error`}, {"hasLANG", term, `false`}, {"xsd:string", term, `error`}, {"!", term, `error`},
		{"=", term + ` <<( <http://a/s> <http://a/p> 01.0 )>>`, `true`}, {"=", term + ` <<( <http://a/s> <http://a/p> 2 )>>`, `false`}, {"!=", term + ` ` + nested, `true`}, {"=", term + ` 1`, `false`},
		{"=", nested + ` <<( _:b <http://a/p> <<( <http://a/s> <http://a/p> "x"@EN )>> )>>`, `true`}, {"=", term + ` <<( <http://a/s> <http://a/p> "x"^^xsd:integer )>>`, `error`},
		{"=", term + ` <<( <http://a/o> <http://a/p> "x"^^xsd:integer )>>`, `false`}, {"<", term + ` ` + nested, `error`},
		{"sameTerm", term + ` ` + term, `true`}, {"sameTerm", term + ` <<( <http://a/s> <http://a/p> 01 )>>`, `false`}, {"sameTerm", nested + ` <<( _:b <http://a/p> <<( <http://a/s> <http://a/p> "x"@EN )>> )>>`, `true`},
		{"IN", term + ` 1 ` + term, `true`}, {"IN", nested + ` 1 ` + term, `false`},
	})
}

func TestDirections(t *testing.T) {
	runTable(t, []testCase{
		{"LANG", `"x"@en--ltr`, `"en"`}, {"LANGDIR", `"x"@en--ltr`, `"ltr"`}, {"LANGDIR", `"x"@en`, `""`}, {"LANGDIR", `1`, `""`}, {"LANGDIR", `<http://a/>`, `error`}, {"LANGDIR", `unbound`, `error`},
		{"hasLANG", `"x"@en`, `true`}, {"hasLANG", `"x"@en--rtl`, `true`}, {"hasLANG", `"x"`, `false`}, {"hasLANG", `<http://a/>`, `false`}, {"hasLANG", `unbound`, `error`},
		{"hasLANGDIR", `"x"@en--rtl`, `true`}, {"hasLANGDIR", `"x"@en`, `false`}, {"hasLANGDIR", `1`, `false`}, {"hasLANGDIR", `_:b`, `false`},
		{"STRLANGDIR", `"x" "en" "ltr"`, `"x"@en--ltr`}, {"STRLANGDIR", `"x" "EN" "ltr"`, `"x"@en--ltr`}, {"STRLANGDIR", `"x" "en" "LTR"`, `error`}, {"STRLANGDIR", `"x" "zh-classical" "ltr"`, `error`}, {"STRLANGDIR", `"x" "en" ""`, `error`}, {"STRLANGDIR", `"x" "" "ltr"`, `error`}, {"STRLANGDIR", `1 "en" "ltr"`, `error`},
		{"STRLANGDIR", `"x" "en--ltr" "ltr"`, `error`}, {"STRLANG", `"x" "en--ltr"`, `error`}, {"STRDT", `"x" <http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>`, `error`},
		{"DATATYPE", `"x"@en--ltr`, `<http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString>`}, {"STR", `"x"@en--ltr`, `"x"`},
		{"=", `"x"@en--ltr "x"@EN--ltr`, `true`}, {"=", `"x"@en--ltr "x"@en`, `false`}, {"=", `"x"@en--ltr "x"@en--rtl`, `false`},
		{"UCASE", `"x"@en--ltr`, `"X"@en--ltr`}, {"SUBSTR", `"xy"@en--ltr 2`, `"y"@en--ltr`}, {"STRBEFORE", `"xy"@en--ltr "y"`, `"x"@en--ltr`}, {"STRAFTER", `"xy"@en--ltr "x"@en--ltr`, `"y"@en--ltr`},
		{"CONTAINS", `"xy"@en--ltr "y"@en--ltr`, `true`}, {"CONTAINS", `"xy"@en--ltr "y"@en`, `error`}, {"CONTAINS", `"xy"@en--ltr "y"`, `true`}, {"CONTAINS", `"xy" "y"@en--ltr`, `error`},
		{"CONCAT", `"x"@en--ltr "y"@en--ltr`, `"xy"@en--ltr`}, {"CONCAT", `"x"@en--ltr "y"@en`, `"xy"`}, {"LANGMATCHES", `"en" "*"`, `true`},
	})
}

func TestStringFunctions(t *testing.T) {
	runTable(t, []testCase{
		{"STRLEN", `"chat"`, `4`}, {"STRLEN", `"食べ物"@ja`, `3`}, {"STRLEN", `"\U0001F46A"`, `1`}, {"STRLEN", `1`, `error`},
		{"SUBSTR", `"foobar" 4`, `"bar"`}, {"SUBSTR", `"foobar"@en 4`, `"bar"@en`}, {"SUBSTR", `"foobar" 4 1`, `"b"`}, {"SUBSTR", `"12345" 1.5 2.6`, `"234"`},
		{"SUBSTR", `"12345" 0 3`, `"12"`}, {"SUBSTR", `"12345" 5 -3`, `""`}, {"SUBSTR", `"12345" -3 5`, `"1"`}, {"SUBSTR", `"12345" "NaN"^^xsd:double 3`, `""`},
		{"SUBSTR", `"12345" "-INF"^^xsd:double "INF"^^xsd:double`, `""`}, {"SUBSTR", `"12345" -42 "INF"^^xsd:double`, `"12345"`}, {"SUBSTR", `"食べ物" 2 1`, `"べ"`}, {"SUBSTR", `"a" 7`, `""`},
		{"UCASE", `"foo"@en`, `"FOO"@en`}, {"UCASE", `"straße"`, `"STRASSE"`}, {"LCASE", `"BAR"`, `"bar"`}, {"LCASE", `"ÄÖ"`, `"äö"`}, {"UCASE", `1`, `error`},
		{"STRSTARTS", `"foobar" "foo"`, `true`}, {"STRSTARTS", `"foobar"@en "foo"@en`, `true`}, {"STRSTARTS", `"foobar"@en "foo"`, `true`}, {"STRSTARTS", `"foobar" "foo"@en`, `error`},
		{"STRSTARTS", `"foobar"@en "foo"@fr`, `error`}, {"STRSTARTS", `"foobar"@en "foo"@EN`, `true`},
		{"STRENDS", `"foobar" "bar"`, `true`}, {"STRENDS", `1 "bar"`, `error`}, {"CONTAINS", `"foobar" "oba"`, `true`}, {"CONTAINS", `"foobar" "x"`, `false`},
		{"STRBEFORE", `"abc" "b"`, `"a"`}, {"STRBEFORE", `"abc"@en "bc"`, `"a"@en`}, {"STRBEFORE", `"abc"@en "b"@cy`, `error`}, {"STRBEFORE", `"abc"@en ""`, `""@en`},
		{"STRBEFORE", `"abc"@en "z"@en`, `""`}, {"STRBEFORE", `"abc"@en ""@en`, `""@en`}, {"STRBEFORE", `"abc" "xyz"`, `""`},
		{"STRAFTER", `"abc" "b"`, `"c"`}, {"STRAFTER", `"abc"@en "ab"`, `"c"@en`}, {"STRAFTER", `"abc"@en ""`, `"abc"@en`}, {"STRAFTER", `"abc"@en "z"`, `""`},
		{"ENCODE_FOR_URI", `"Los Angeles"@en`, `"Los%20Angeles"`}, {"ENCODE_FOR_URI", `"食-_.~100%"`, `"%E9%A3%9F-_.~100%25"`},
		{"CONCAT", `"foo" "bar"`, `"foobar"`}, {"CONCAT", `"foo"@en "bar"@en`, `"foobar"@en`}, {"CONCAT", `"foo"@en "bar"`, `"foobar"`}, {"CONCAT", `"foo"@en "bar"@es`, `"foobar"`},
		{"CONCAT", ``, `""`}, {"CONCAT", `"a" 7`, `error`}, {"CONCAT", `"a" unbound`, `error`},
		{"LANGMATCHES", `"en" "en"`, `true`}, {"LANGMATCHES", `"en-GB" "EN"`, `true`}, {"LANGMATCHES", `"eng" "en"`, `false`}, {"LANGMATCHES", `"" "*"`, `false`}, {"LANGMATCHES", `"fr" "*"`, `true`},
		{"MD5", `"abc"`, `"900150983cd24fb0d6963f7d28e17f72"`}, {"SHA1", `"abc"`, `"a9993e364706816aba3e25717850c26c9cd0d89d"`},
		{"SHA256", `"abc"`, `"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"`}, {"MD5", `"abc"@en`, `error`},
		{"SHA384", `"abc"`, `"cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"`},
		{"SHA512", `""`, `"cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e"`},
	})
}

func TestRegexFunctions(t *testing.T) {
	runTable(t, []testCase{
		{"REGEX", `"Alice" "^ali" "i"`, `true`}, {"REGEX", `"Alice"@en "^Ali"`, `true`}, {"REGEX", `"Alice" "^ali"`, `false`}, {"REGEX", `1 "1"`, `error`}, {"REGEX", `"a" "a"@en`, `error`},
		{"REGEX", `"a\nb" "a.b"`, `false`}, {"REGEX", `"a\nb" "a.b" "s"`, `true`}, {"REGEX", `"a\nb" "^b$"`, `false`}, {"REGEX", `"a\nb" "^b$" "m"`, `true`}, {"REGEX", `"ab\n" "b$"`, `false`},
		{"REGEX", `"helloworld" "hello world" "x"`, `true`}, {"REGEX", `"hello world" "hello[ ]world" "x"`, `true`}, {"REGEX", `"a.b" "a.b" "q"`, `true`}, {"REGEX", `"axb" "a.b" "q"`, `false`}, {"REGEX", `"A.B" "a.b" "qi"`, `true`},
		{"REGEX", `"a" "a" "z"`, `error`}, {"REGEX", `"a" "("`, `error`}, {"REGEX", `"b" "^[a-z-[aeiou]]$"`, `true`}, {"REGEX", `"e" "^[a-z-[aeiou]]$"`, `false`}, {"REGEX", `"٣" "^\\d$"`, `true`},
		{"REGEX", `"é" "^\\w$"`, `true`}, {"REGEX", `"-" "^\\w$"`, `false`}, {"REGEX", `"-" "^\\W$"`, `true`}, {"REGEX", `"Ω" "^\\p{Lu}$"`, `true`}, {"REGEX", `"Ω" "\\p{IsGreek}"`, `true`}, {"REGEX", `"Ω" "\\P{L}"`, `false`},
		{"REGEX", `"a:b" "^\\i\\c*$"`, `true`}, {"REGEX", `"1a" "^\\i"`, `false`}, {"REGEX", `"a-b" "^[a\\-b]+$"`, `true`}, {"REGEX", `"-" "^[a-]$"`, `true`}, {"REGEX", `"x" "a{,3}"`, `error`}, {"REGEX", `"aa" "^a{2}$"`, `true`},
		// The flag i adds variants to characters and ranges, then comes negation; escapes stay.
		{"REGEX", `"f" "[^a-z]" "i"`, `false`}, {"REGEX", `"F" "[^a-z]" "i"`, `false`}, {"REGEX", `"." "[^a-z]" "i"`, `true`}, {"REGEX", `"q" "[^Q]" "i"`, `false`}, {"REGEX", `"B" "[a-z-[aeiou]]" "i"`, `true`},
		{"REGEX", `"E" "[a-z-[aeiou]]" "i"`, `false`}, {"REGEX", `"a" "\\p{Lu}" "i"`, `false`}, {"REGEX", `"a" "[\\p{Lu}]" "i"`, `false`}, {"REGEX", `"a" "\\P{Lu}" "i"`, `true`}, {"REGEX", `"\u212A" "[j-l]" "i"`, `true`},
		{"REPLACE", `"foo.Bar" "[^a-z]" "" "i"`, `"fooBar"`},
		{"REGEX", `"a" "\\z"`, `error`}, {"REGEX", `"a" "(?i)a"`, `error`}, {"REGEX", `"b" "[^^]"`, `true`}, {"REGEX", `"^" "^[^^]$"`, `false`}, {"REGEX", `"]" "[]]"`, `error`},
		{"REPLACE", `"abcd" "b" "Z"`, `"aZcd"`}, {"REPLACE", `"abab" "B" "Z" "i"`, `"aZaZ"`}, {"REPLACE", `"abab" "B." "Z" "i"`, `"aZb"`},
		{"REPLACE", `"abracadabra" "bra" "*"`, `"a*cada*"`}, {"REPLACE", `"abracadabra" "a.*a" "*"`, `"*"`}, {"REPLACE", `"abracadabra" "a.*?a" "*"`, `"*c*bra"`}, {"REPLACE", `"abracadabra" "a" ""`, `"brcdbr"`},
		{"REPLACE", `"abracadabra" "a(.)" "a$1$1"`, `"abbraccaddabbra"`}, {"REPLACE", `"abracadabra" ".*?" "$1"`, `error`}, {"REPLACE", `"AAAA" "A+?" "b"`, `"bbbb"`}, {"REPLACE", `"darted" "^(.*?)d(.*)$" "$1c$2"`, `"carted"`},
		{"REPLACE", `"abcd" "(ab)|(a)" "[1=$1][2=$2]"`, `"[1=ab][2=]cd"`}, {"REPLACE", `"a"@en "a" "b"`, `"b"@en`}, {"REPLACE", `"a" "a" "\\$"`, `"$"`}, {"REPLACE", `"a" "a" "$"`, `error`}, {"REPLACE", `"a" "a" "\\n"`, `error`},
		{"REPLACE", `"abc" "(b)" "$12"`, `"ab2c"`}, {"REPLACE", `"abc" "(b)" "$2"`, `"ac"`}, {"REPLACE", `"a.c" "." "$1" "q"`, `"a$1c"`}, {"REPLACE", `"a" "a" "b"@en`, `error`},
	})
}

func TestUnsupportedRegex(t *testing.T) {
	for _, pattern := range []string{`(a)\\1`, `a{1001}`, `((a{100}){100}){100}`, `\\p{IsLinearB}`, strings.Repeat("a", 9000)} {
		e := build(t, "REGEX", `"a" "`+pattern+`"`)
		if _, err := Compile(e, Scope{}); !errors.Is(err, regex.ErrUnsupported) || !errors.Is(err, ErrCompile) {
			t.Errorf("pattern %.20q: error %v", pattern, err)
		}
		if v := evalVariables(t, e); v.IsBound() {
			t.Errorf("pattern %.20q in a variable: %s, want an error", pattern, v.Term())
		}
	}
}

func TestNumberFunctions(t *testing.T) {
	runTable(t, []testCase{
		{"ABS", `-1`, `1`}, {"ABS", `-1.50`, `1.5`}, {"ABS", `-2e0`, `"2.0E0"^^xsd:double`}, {"ABS", `"-INF"^^xsd:float`, `"INF"^^xsd:float`}, {"ABS", `"x"`, `error`}, {"ABS", `"-5"^^xsd:byte`, `5`},
		{"ABS", `-9223372036854775808`, `9223372036854775808`},
		{"ROUND", `2.4999`, `"2"^^xsd:decimal`}, {"ROUND", `2.5`, `"3"^^xsd:decimal`}, {"ROUND", `-2.5`, `"-2"^^xsd:decimal`}, {"ROUND", `-2.6`, `"-3"^^xsd:decimal`}, {"ROUND", `-2`, `-2`},
		{"ROUND", `0.49999999999999994e0`, `"0.0E0"^^xsd:double`}, {"ROUND", `-0.4e0`, `"-0.0E0"^^xsd:double`}, {"ROUND", `"NaN"^^xsd:double`, `"NaN"^^xsd:double`},
		{"CEIL", `10.5`, `"11"^^xsd:decimal`}, {"CEIL", `-10.5`, `"-10"^^xsd:decimal`}, {"FLOOR", `10.5`, `"10"^^xsd:decimal`}, {"FLOOR", `-10.5`, `"-11"^^xsd:decimal`}, {"CEIL", `1.1e0`, `"2.0E0"^^xsd:double`},
		{"CEIL", `1234567890123456789012345678901234567890.5`, `"1234567890123456789012345678901234567891"^^xsd:decimal`}, {"ROUND", `-1234567890123456789012345678901234567890.5`, `"-1234567890123456789012345678901234567890"^^xsd:decimal`},
		{"FLOOR", `-1234567890123456789012345678901234567890.1`, `"-1234567890123456789012345678901234567891"^^xsd:decimal`}, {"CEIL", `-0.5`, `"0"^^xsd:decimal`},
	})
}

func TestDateFunctions(t *testing.T) {
	const at = `"2011-01-10T14:45:13.815-05:00"^^xsd:dateTime`
	runTable(t, []testCase{
		{"YEAR", at, `2011`}, {"MONTH", at, `1`}, {"DAY", at, `10`}, {"HOURS", at, `14`}, {"MINUTES", at, `45`}, {"SECONDS", at, `13.815`},
		{"TIMEZONE", at, `"-PT5H"^^xsd:dayTimeDuration`}, {"TIMEZONE", `"2011-01-10T14:45:13.815Z"^^xsd:dateTime`, `"PT0S"^^xsd:dayTimeDuration`}, {"TIMEZONE", `"2011-01-10T14:45:13.815"^^xsd:dateTime`, `error`},
		{"TZ", at, `"-05:00"`}, {"TZ", `"2011-01-10T14:45:13.815Z"^^xsd:dateTime`, `"Z"`}, {"TZ", `"2011-01-10T14:45:13.815"^^xsd:dateTime`, `""`}, {"TZ", `"2011-01-10T00:00:00+14:00"^^xsd:dateTime`, `"+14:00"`},
		{"YEAR", `"-0044-03-15T00:00:00Z"^^xsd:dateTime`, `-44`}, {"YEAR", `"0000-01-01T00:00:00Z"^^xsd:dateTime`, `0`}, {"YEAR", `"12345-01-01"^^xsd:date`, `12345`},
		{"YEAR", `"2020"^^xsd:gYear`, `2020`}, {"YEAR", `"-0044"^^xsd:gYear`, `-44`}, {"YEAR", `"12020-05:00"^^xsd:gYear`, `12020`}, {"YEAR", `"2020Z"^^xsd:gYear`, `2020`}, {"YEAR", `"2020-05"^^xsd:gYearMonth`, `2020`}, {"MONTH", `"2020-05+02:00"^^xsd:gYearMonth`, `5`},
		{"MONTH", `"--05"^^xsd:gMonth`, `5`}, {"MONTH", `"--12-31"^^xsd:gMonthDay`, `12`}, {"DAY", `"--02-29"^^xsd:gMonthDay`, `29`}, {"DAY", `"---31"^^xsd:gDay`, `31`}, {"DAY", `"---31-02:00"^^xsd:gDay`, `31`}, {"MONTH", `"--05Z"^^xsd:gMonth`, `5`},
		{"MONTH", `"2020"^^xsd:gYear`, `error`}, {"YEAR", `"20"^^xsd:gYear`, `error`}, {"YEAR", `"2020-01-01"^^xsd:gYear`, `error`}, {"YEAR", `"2020-13"^^xsd:gYearMonth`, `error`}, {"DAY", `"--02-30"^^xsd:gMonthDay`, `error`}, {"DAY", `"--31"^^xsd:gDay`, `error`}, {"DAY", `"31"^^xsd:gDay`, `error`}, {"MONTH", `"05"^^xsd:gMonth`, `error`},
		{"YEAR", `""^^xsd:gYear`, `error`}, {"DAY", `"-----31"^^xsd:gDay`, `error`}, {"MONTH", `"--05-01"^^xsd:gMonth`, `error`},
		{"ADJUST", `"2020-01-01T00:00:00Z"^^xsd:dateTime "PT2H"^^xsd:dayTimeDuration`, `"2020-01-01T02:00:00+02:00"^^xsd:dateTime`}, {"ADJUST", `"2020-01-01T00:00:00"^^xsd:dateTime "-PT5H30M"^^xsd:dayTimeDuration`, `"2020-01-01T00:00:00-05:30"^^xsd:dateTime`},
		{"ADJUST", `"2002-03-07-07:00"^^xsd:date "-PT10H"^^xsd:dayTimeDuration`, `"2002-03-06-10:00"^^xsd:date`}, {"ADJUST", `"2002-03-07"^^xsd:date "-PT10H"^^xsd:dayTimeDuration`, `"2002-03-07-10:00"^^xsd:date`},
		{"ADJUST", `"10:00:00-07:00"^^xsd:time "PT10H"^^xsd:dayTimeDuration`, `"03:00:00+10:00"^^xsd:time`}, {"ADJUST", `"10:00:00"^^xsd:time "PT0S"^^xsd:dayTimeDuration`, `"10:00:00Z"^^xsd:time`},
		{"ADJUST", `"10:00:00"^^xsd:time "PT15H"^^xsd:dayTimeDuration`, `error`}, {"ADJUST", `"10:00:00"^^xsd:time "PT1S"^^xsd:dayTimeDuration`, `error`}, {"ADJUST", `"10:00:00"^^xsd:time "P1M"^^xsd:yearMonthDuration`, `error`}, {"ADJUST", `1 "PT0S"^^xsd:dayTimeDuration`, `error`},
		{"DAY", `"2024-02-29"^^xsd:date`, `29`}, {"DAY", `"2023-02-29"^^xsd:date`, `error`}, {"DAY", `"2010-12-31T24:00:00"^^xsd:dateTime`, `1`}, {"YEAR", `"x"`, `error`}, {"HOURS", `"12:30:00"^^xsd:time`, `12`},
		{"SECONDS", `"2011-01-10T14:45:13Z"^^xsd:dateTime`, `"13"^^xsd:decimal`}, {"SECONDS", `"12:30:01.0000000000001"^^xsd:time`, `1.0000000000001`}, {"MONTH", `"12:30:00"^^xsd:time`, `error`},
	})
}

func TestCasts(t *testing.T) {
	runTable(t, []testCase{
		{"xsd:integer", `"13"`, `13`}, {"xsd:integer", `" 13 "`, `13`}, {"xsd:integer", `"1.5"`, `error`}, {"xsd:integer", `2.5`, `2`}, {"xsd:integer", `-2.5`, `-2`}, {"xsd:integer", `"-7.875"^^xsd:float`, `-7`}, {"xsd:integer", `true`, `1`},
		{"xsd:integer", `"NaN"^^xsd:double`, `error`}, {"xsd:integer", `1e23`, `99999999999999991611392`}, {"xsd:integer", `"x"@en`, `error`}, {"xsd:integer", `<http://a/>`, `error`}, {"xsd:integer", `"007"^^xsd:integer`, `7`},
		{"xsd:byte", `127`, `"127"^^xsd:byte`}, {"xsd:byte", `128`, `error`}, {"xsd:unsignedLong", `18446744073709551615`, `"18446744073709551615"^^xsd:unsignedLong`}, {"xsd:unsignedLong", `18446744073709551616`, `error`},
		{"xsd:decimal", `1`, `"1"^^xsd:decimal`}, {"xsd:decimal", `"3.00"^^xsd:decimal`, `"3"^^xsd:decimal`}, {"xsd:decimal", `"3.00"`, `"3"^^xsd:decimal`}, {"xsd:decimal", `true`, `"1"^^xsd:decimal`}, {"xsd:decimal", `2e0`, `"2"^^xsd:decimal`}, {"xsd:decimal", `0.1e0`, `0.1`}, {"xsd:decimal", `"0.1"^^xsd:float`, `0.100000001490116119384765625`}, {"xsd:decimal", `"-3.5"^^xsd:float`, `-3.5`}, {"xsd:integer", `"1e10"^^xsd:float`, `10000000000`}, {"xsd:decimal", `"1e0"`, `error`}, {"xsd:decimal", `"+33.3300"`, `33.33`}, {"xsd:decimal", `"INF"^^xsd:float`, `error`},
		{"xsd:double", `"-10.2E3"`, `"-1.02E4"^^xsd:double`}, {"xsd:double", `1`, `"1.0E0"^^xsd:double`}, {"xsd:double", `"INF"`, `"INF"^^xsd:double`}, {"xsd:double", `"inf"`, `error`}, {"xsd:double", `"0x1p3"`, `error`}, {"xsd:double", `"1_0"`, `error`},
		{"xsd:float", `"+33.3300"`, `"3.333E1"^^xsd:float`}, {"xsd:float", `16777217`, `"1.6777216E7"^^xsd:float`}, {"xsd:float", `1e300`, `"INF"^^xsd:float`}, {"xsd:float", `false`, `"0.0E0"^^xsd:float`},
		{"xsd:boolean", `"true"`, `true`}, {"xsd:boolean", `"1"`, `true`}, {"xsd:boolean", `"TRUE"`, `error`}, {"xsd:boolean", `0.0`, `false`}, {"xsd:boolean", `"NaN"^^xsd:double`, `false`}, {"xsd:boolean", `"0"^^xsd:boolean`, `false`}, {"xsd:boolean", `-1`, `true`},
		{"xsd:string", `<http://a/>`, `"http://a/"`}, {"xsd:string", `1.0`, `"1"`}, {"xsd:string", `1e0`, `"1"`}, {"xsd:string", `1e7`, `"1.0E7"`}, {"xsd:string", `"1"^^xsd:boolean`, `"true"`}, {"xsd:string", `_:b`, `error`}, {"xsd:string", `"x"^^<http://a/t>`, `"x"`},
		{"xsd:dateTime", `"2002-10-10T17:00:00Z"`, `"2002-10-10T17:00:00Z"^^xsd:dateTime`}, {"xsd:dateTime", `"2002-10-10"`, `error`}, {"xsd:dateTime", `1`, `error`}, {"xsd:dateTime", `"2002-10-10+02:00"^^xsd:date`, `"2002-10-10T00:00:00+02:00"^^xsd:dateTime`},
		{"xsd:date", `"2002-10-10T17:00:00+14:00"^^xsd:dateTime`, `"2002-10-10+14:00"^^xsd:date`}, {"xsd:time", `"2002-10-10T17:00:00.5-14:00"^^xsd:dateTime`, `"17:00:00.5-14:00"^^xsd:time`},
		{"xsd:dayTimeDuration", `"P1DT25H"`, `"P2DT1H"^^xsd:dayTimeDuration`}, {"xsd:dayTimeDuration", `"P1Y"`, `error`}, {"xsd:yearMonthDuration", `"-P14M"`, `"-P1Y2M"^^xsd:yearMonthDuration`}, {"xsd:duration", `"P1YT1.5S"`, `"P1YT1.5S"^^xsd:duration`},
		{"xsd:duration", `"P"`, `error`}, {"xsd:duration", `"P1DT"`, `error`}, {"xsd:duration", `"PT1.S"`, `error`}, {"xsd:duration", `"P1.5D"`, `error`}, {"xsd:nothing", `1`, `error`},
	})
}

func TestNewBlanks(t *testing.T) {
	env := testEnv()
	compile := func(args string) *Expr {
		x, err := Compile(build(t, "BNODE", args), Scope{})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	a, b, fresh := compile(`"a"`), compile(`"b"`), compile(``)
	one := a.Eval(env, nil).Term()
	if a.Eval(env, nil).Term() != one || b.Eval(env, nil).Term() == one {
		t.Error("BNODE with a label: not one blank node for each label")
	}
	if first, second := fresh.Eval(env, nil).Term(), fresh.Eval(env, nil).Term(); first == second {
		t.Error("BNODE() twice: one blank node")
	}
	env.NextSolution()
	if a.Eval(env, nil).Term() == one {
		t.Error("BNODE with a label: the same in another solution")
	}
}

func TestRandomFunctions(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	if s := eval(t, build(t, "STRUUID", "")).Term().Value(); !form.MatchString(s) {
		t.Errorf("STRUUID() = %q", s)
	}
	iri := eval(t, build(t, "UUID", "")).Term()
	if s, ok := strings.CutPrefix(iri.Value(), "urn:uuid:"); !ok || !form.MatchString(s) || iri.Kind() != triple.IRI {
		t.Errorf("UUID() = %s", iri)
	}
	env := testEnv()
	x, _ := Compile(build(t, "RAND", ""), Scope{})
	for range 1000 {
		if f := x.Eval(env, nil).float(); f < 0 || f >= 1 {
			t.Fatalf("RAND() = %v", f)
		}
	}
	bare := &Env{}
	if x.Eval(bare, nil); bare.Err() == nil {
		t.Error("RAND() without a source: no error")
	}
}

func TestExists(t *testing.T) {
	failure := errors.New("store failed")
	env := &Env{Exists: func(e *ast.Exists, row Row) (bool, error) {
		if e.Index == 2 {
			return false, failure
		}
		return e.Index == 1, nil
	}}
	for _, c := range []struct {
		e    ast.Exists
		want bool
	}{{ast.Exists{Index: 1}, true}, {ast.Exists{Index: 0}, false}, {ast.Exists{Index: 1, Not: true}, false}, {ast.Exists{Index: 0, Not: true}, true}} {
		x, _ := Compile(&c.e, Scope{})
		if got := x.Test(env, nil); got != c.want {
			t.Errorf("%+v: %v", c.e, got)
		}
	}
	x, _ := Compile(&ast.Exists{Index: 2, Not: true}, Scope{})
	if x.Test(env, nil) || !errors.Is(env.Err(), failure) {
		t.Errorf("a store that fails: error %v", env.Err())
	}
}

// TestCaseVariants: the table of cases must have all runes with variants.
func TestCaseVariants(t *testing.T) {
	all := regex.RuneSet{0, unicode.MaxRune}.WithCases()
	has := map[rune]bool{}
	for _, r := range all[2:] {
		has[r] = true
	}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if unicode.SimpleFold(r) != r && !has[r] {
			t.Errorf("%U has variants, which are left out", r)
		}
	}
}
