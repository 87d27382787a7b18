// Tests of operators by table.

package expr

import (
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

func TestLogic(t *testing.T) {
	// Section 17.2: the truth table of three values.
	runTable(t, []testCase{
		{"||", `true true`, `true`}, {"||", `true false`, `true`}, {"||", `false true`, `true`}, {"||", `false false`, `false`}, {"||", `true error`, `true`},
		{"||", `error true`, `true`}, {"||", `false error`, `error`}, {"||", `error false`, `error`}, {"||", `error error`, `error`},
		{"&&", `true true`, `true`}, {"&&", `true false`, `false`}, {"&&", `false true`, `false`}, {"&&", `false false`, `false`}, {"&&", `true error`, `error`},
		{"&&", `error true`, `error`}, {"&&", `false error`, `false`}, {"&&", `error false`, `false`}, {"&&", `error error`, `error`},
		{"!", `true`, `false`}, {"!", `error`, `error`}, {"!", `""`, `true`}, {"!", `"x"@en`, `error`}, {"!", `0`, `true`}, {"!", `"NaN"^^xsd:double`, `true`}, {"!", `"abc"^^xsd:integer`, `error`},
		{"!", `"x"^^xsd:boolean`, `error`}, {"!", `<http://a/>`, `error`}, {"!", `"x"^^<http://a/t>`, `error`}, {"!", `"2000-01-01"^^xsd:date`, `error`}, {"!", `unbound`, `error`}, {"!", `0.0`, `true`}, {"!", `0.001`, `false`},
		{"IN", `2 1 2 3`, `true`}, {"IN", `2`, `false`}, {"IN", `2 <http://a/> "str" 2.0`, `true`}, {"IN", `2 error 2`, `true`}, {"IN", `2 2 error`, `true`}, {"IN", `2 3 error`, `error`}, {"IN", `<http://a/> <http://b/> <http://a/>`, `true`},
		{"IN", `1 <http://b/> <http://a/>`, `false`}, {"IN", `error <http://a/>`, `error`}, {"NOT IN", `2`, `true`}, {"NOT IN", `2 error 2`, `false`}, {"NOT IN", `2 error 3`, `error`}, {"NOT IN", `2 1 3`, `true`},
	})
}

func TestEquality(t *testing.T) {
	for _, c := range []struct {
		a, b, want string // of a = b; != is the opposite
	}{
		{`1`, `"01"^^xsd:integer`, `true`}, {`1`, `1.0`, `true`}, {`1`, `1e0`, `true`}, {`1`, `2`, `false`}, {`"1"^^xsd:byte`, `1.0`, `true`}, {`"NaN"^^xsd:double`, `"NaN"^^xsd:double`, `false`},
		{`"INF"^^xsd:float`, `"INF"^^xsd:double`, `true`}, {`0.0`, `"-0.0e0"^^xsd:double`, `true`}, {`9007199254740993`, `9007199254740992`, `false`}, {`9007199254740993`, `9007199254740992e0`, `true`},
		{`0.1`, `0.1e0`, `true`}, {`"0.1"^^xsd:float`, `0.1e0`, `false`}, {`"0.1"^^xsd:float`, `0.1`, `true`}, {`1234567890123456789012345678901234567890`, `1234567890123456789012345678901234567891`, `false`},
		{`"a"`, `"a"`, `true`}, {`"a"`, `"b"`, `false`}, {`"a"@en`, `"a"@EN`, `true`}, {`"a"@en`, `"a"@fr`, `false`}, {`"a"@en`, `"a"`, `false`}, {`"a"@en`, `"x"^^xsd:integer`, `false`}, {`"a"@en`, `"a"^^<http://a/t>`, `false`},
		{`<http://a/>`, `<http://a/>`, `true`}, {`<http://a/>`, `<http://b/>`, `false`}, {`<http://a/>`, `"http://a/"`, `false`}, {`_:a`, `_:a`, `true`}, {`_:a`, `_:b`, `false`}, {`_:a`, `"x"^^<http://a/t>`, `false`},
		{`"a"^^<http://a/t>`, `"a"^^<http://a/t>`, `true`}, {`"a"^^<http://a/t>`, `"b"^^<http://a/t>`, `error`}, {`"a"^^<http://a/t>`, `"a"`, `error`}, {`"a"^^<http://a/t>`, `1`, `error`}, {`"x"^^xsd:integer`, `"x"^^xsd:integer`, `true`},
		{`"x"^^xsd:integer`, `"x"`, `error`}, {`"x"^^xsd:integer`, `1`, `error`}, {`1`, `"1"`, `false`}, {`true`, `"1"^^xsd:boolean`, `true`}, {`true`, `1`, `false`}, {`true`, `"x"^^xsd:boolean`, `error`},
		{`"2006-08-23T09:00:00+01:00"^^xsd:dateTime`, `"2006-08-23T08:00:00Z"^^xsd:dateTime`, `true`}, {`"2006-08-23"^^xsd:date`, `"2006-08-23T00:00:00"^^xsd:dateTime`, `false`}, {`"2006-08-23Z"^^xsd:date`, `"2006-08-23"^^xsd:date`, `error`},
		{`"2006-08-23Z"^^xsd:date`, `"2006-08-23+00:00"^^xsd:date`, `true`}, {`"2001-01-01Z"^^xsd:date`, `"2006-08-23"^^xsd:date`, `false`}, {`"24:00:00"^^xsd:time`, `"00:00:00"^^xsd:time`, `true`},
		{`"2000-01-01T00:00:00.10"^^xsd:dateTime`, `"2000-01-01T00:00:00.1"^^xsd:dateTime`, `true`}, {`"2000-01-01T00:00:00.0000000000001"^^xsd:dateTime`, `"2000-01-01T00:00:00"^^xsd:dateTime`, `false`},
		{`"P1Y"^^xsd:yearMonthDuration`, `"P12M"^^xsd:duration`, `true`}, {`"P0M"^^xsd:yearMonthDuration`, `"PT0S"^^xsd:dayTimeDuration`, `true`}, {`"P1M"^^xsd:duration`, `"P30D"^^xsd:duration`, `false`}, {`unbound`, `1`, `error`},
	} {
		opposite := map[string]string{`true`: `false`, `false`: `true`, `error`: `error`}[c.want]
		runTable(t, []testCase{{"=", c.a + " " + c.b, c.want}, {"=", c.b + " " + c.a, c.want}, {"!=", c.a + " " + c.b, opposite}})
	}
}

func TestOrderOperators(t *testing.T) {
	// a < b, or neither, or an error.
	for _, c := range []struct{ a, b, want string }{
		{`1`, `2`, `less`}, {`-1`, `0.5`, `less`}, {`1.5`, `2e0`, `less`}, {`"-INF"^^xsd:double`, `-1e308`, `less`}, {`9007199254740992`, `9007199254740993`, `less`}, {`9007199254740992e0`, `9007199254740993`, `equal`},
		{`0.1234567890123456789012345678901234567890`, `0.1234567890123456789012345678901234567891`, `less`}, {`16777216`, `"16777217"^^xsd:float`, `equal`}, {`"NaN"^^xsd:double`, `1`, `neither`}, {`1`, `"NaN"^^xsd:float`, `neither`},
		{`"a"`, `"b"`, `less`}, {`"Z"`, `"a"`, `less`}, {`"\uFFFD"`, `"\U00010000"`, `less`}, {`"a"@en`, `"b"@en`, `error`}, {`"a"`, `1`, `error`}, {`<http://a/>`, `<http://b/>`, `error`}, {`_:a`, `_:b`, `error`},
		{`false`, `true`, `less`}, {`true`, `1`, `error`}, {`"a"^^<http://a/t>`, `"b"^^<http://a/t>`, `error`}, {`"x"^^xsd:integer`, `1`, `error`},
		{`"2000-01-15T00:00:00"^^xsd:dateTime`, `"2000-02-15T00:00:00"^^xsd:dateTime`, `less`}, {`"2000-01-15T12:00:00"^^xsd:dateTime`, `"2000-01-16T12:00:00Z"^^xsd:dateTime`, `less`}, {`"2000-01-01T12:00:00"^^xsd:dateTime`, `"1999-12-31T23:00:00Z"^^xsd:dateTime`, `error`},
		{`"2000-01-16T12:00:00"^^xsd:dateTime`, `"2000-01-16T12:00:00Z"^^xsd:dateTime`, `error`}, {`"2000-01-15T22:00:00"^^xsd:dateTime`, `"2000-01-16T12:00:00Z"^^xsd:dateTime`, `error`}, {`"2000-01-15T21:59:59.999"^^xsd:dateTime`, `"2000-01-16T12:00:00Z"^^xsd:dateTime`, `less`},
		{`"2000-01-16T12:00:00Z"^^xsd:dateTime`, `"2000-01-17T02:00:00.001"^^xsd:dateTime`, `less`}, {`"2000-01-01T00:00:00+14:00"^^xsd:dateTime`, `"2000-01-01T00:00:00-14:00"^^xsd:dateTime`, `less`},
		{`"2006-08-22"^^xsd:date`, `"2006-08-23"^^xsd:date`, `less`}, {`"2006-08-22"^^xsd:date`, `"2006-08-23Z"^^xsd:date`, `less`}, {`"2006-08-22"^^xsd:date`, `"2006-08-22+14:00"^^xsd:date`, `error`}, {`"2006-08-22"^^xsd:date`, `"2006-08-24Z"^^xsd:date`, `less`}, {`"2006-08-22"^^xsd:date`, `"2006-08-23T00:00:00"^^xsd:dateTime`, `error`},
		// Values without an order are an error even if they are equal.
		{`"a"@en`, `"a"@en`, `error`}, {`<http://a/>`, `<http://a/>`, `error`}, {`_:a`, `_:a`, `error`}, {`"a"^^<http://a/t>`, `"a"^^<http://a/t>`, `error`}, {`"P1M"^^xsd:duration`, `"P1M"^^xsd:duration`, `error`},
		{`"P0M"^^xsd:yearMonthDuration`, `"PT0S"^^xsd:dayTimeDuration`, `error`},
		{`"-0001-01-01"^^xsd:date`, `"0000-01-01"^^xsd:date`, `less`}, {`"0000-12-31"^^xsd:date`, `"0001-01-01"^^xsd:date`, `less`}, {`"9999-12-31"^^xsd:date`, `"10000-01-01"^^xsd:date`, `less`}, {`"10:00:00"^^xsd:time`, `"10:00:00.1"^^xsd:time`, `less`},
		{`"PT1H"^^xsd:dayTimeDuration`, `"PT61M"^^xsd:dayTimeDuration`, `less`}, {`"P11M"^^xsd:yearMonthDuration`, `"P1Y"^^xsd:yearMonthDuration`, `less`}, {`"P1M"^^xsd:duration`, `"P2M"^^xsd:duration`, `error`}, {`"P1M"^^xsd:yearMonthDuration`, `"P100D"^^xsd:dayTimeDuration`, `error`},
	} {
		results := map[string][4]string{ // of <, >, <=, >=
			"less": {`true`, `false`, `true`, `false`}, "equal": {`false`, `false`, `true`, `true`}, "neither": {`false`, `false`, `false`, `false`}, "error": {`error`, `error`, `error`, `error`},
		}[c.want]
		for i, op := range []string{"<", ">", "<=", ">="} {
			runTable(t, []testCase{{op, c.a + " " + c.b, results[i]}, {[]string{">", "<", ">=", "<="}[i], c.b + " " + c.a, results[i]}})
		}
	}
}

func TestArithmetic(t *testing.T) {
	runTable(t, []testCase{
		{"+", `1 2`, `3`}, {"+", `1.0 2`, `"3"^^xsd:decimal`}, {"+", `9223372036854775807 1`, `9223372036854775808`}, {"-", `-9223372036854775808 1`, `-9223372036854775809`}, {"*", `9223372036854775807 9223372036854775807`, `85070591730234615847396907784232501249`},
		{"-", `9223372036854775808 9223372036854775807`, `1`}, {"+", `0.1 0.2`, `0.3`}, {"*", `1.10 1.10`, `1.21`}, {"*", `0.000000001 0.0000000001`, `0.0000000000000000001`}, {"+", `1.5 0.5`, `"2"^^xsd:decimal`},
		{"/", `4 2`, `"2"^^xsd:decimal`}, {"/", `1 3`, `0.3333333333333333333333333333333333`}, {"/", `2 3`, `0.6666666666666666666666666666666667`}, {"/", `1 0`, `error`}, {"/", `1.0 0.0`, `error`}, {"/", `1e0 0`, `"INF"^^xsd:double`}, {"/", `-1e0 0`, `"-INF"^^xsd:double`}, {"/", `0e0 0`, `"NaN"^^xsd:double`},
		{"/", `11.1 5`, `2.22`}, {"/", `1 8`, `0.125`}, {"/", `-9223372036854775808 -1`, `"9223372036854775808"^^xsd:decimal`}, {"/", `10000000000000000000000000000000000000001 3`, `3333333333333333333333333333333333333333.6666666666666666667`},
		{"+", `"1" 2`, `error`}, {"+", `<http://a/> 2`, `error`}, {"+", `unbound 2`, `error`}, {"+", `true 1`, `error`}, {"+", `"x"^^xsd:integer 1`, `error`},
		{"-", `2`, `-2`}, {"-", `"2"^^xsd:byte`, `-2`}, {"-", `0e0`, `"-0.0E0"^^xsd:double`}, {"+", `"02"^^xsd:short`, `2`}, {"-", `"a"`, `error`}, {"-", `-9223372036854775808`, `9223372036854775808`}, {"-", `1.50`, `-1.5`},
		{"*", `1e308 10`, `"INF"^^xsd:double`}, {"+", `"16777216"^^xsd:float 1`, `"1.6777216E7"^^xsd:float`}, {"+", `0.1e0 0.2e0`, `"3.0000000000000004E-1"^^xsd:double`},
	})
}

func TestPromotion(t *testing.T) {
	types := []string{"byte", "short", "int", "long", "integer", "unsignedByte", "unsignedShort", "unsignedInt", "unsignedLong", "nonNegativeInteger", "positiveInteger", "decimal", "float", "double"}
	rank := map[string]int{"decimal": 1, "float": 2, "double": 3}
	names := []string{"integer", "decimal", "float", "double"}
	for _, a := range types {
		for _, b := range types {
			want := max(rank[a], rank[b])
			for op, least := range map[string]int{"+": 0, "-": 0, "*": 0, "/": 1} {
				got := eval(t, build(t, op, `"6"^^xsd:`+a+` "3"^^xsd:`+b))
				if name := triple.XSD + names[max(want, least)]; got.Datatype() != name {
					t.Errorf("%s %s %s is %s, want %s", a, op, b, got.Datatype(), name)
				}
			}
		}
	}
}

func TestDateArithmetic(t *testing.T) {
	runTable(t, []testCase{
		{"-", `"2000-10-30T06:12:00-05:00"^^xsd:dateTime "1999-11-28T09:00:00Z"^^xsd:dateTime`, `"P337DT2H12M"^^xsd:dayTimeDuration`}, {"-", `"2000-10-30"^^xsd:date "1999-11-28"^^xsd:date`, `"P337D"^^xsd:dayTimeDuration`},
		{"-", `"2000-10-15Z"^^xsd:date "2000-10-15"^^xsd:date`, `error`}, {"-", `"11:12:00Z"^^xsd:time "04:00:00Z"^^xsd:time`, `"PT7H12M"^^xsd:dayTimeDuration`}, {"+", `"2000-01-01"^^xsd:date "2000-01-01"^^xsd:date`, `error`},
		{"+", `"2000-10-30T11:12:00"^^xsd:dateTime "P1Y2M"^^xsd:yearMonthDuration`, `"2001-12-30T11:12:00"^^xsd:dateTime`}, {"+", `"2024-01-31"^^xsd:date "P1M"^^xsd:yearMonthDuration`, `"2024-02-29"^^xsd:date`}, {"+", `"2023-01-31"^^xsd:date "P1M"^^xsd:yearMonthDuration`, `"2023-02-28"^^xsd:date`},
		{"-", `"2024-02-29"^^xsd:date "P1Y"^^xsd:yearMonthDuration`, `"2023-02-28"^^xsd:date`}, {"-", `"0000-02-29"^^xsd:date "P1Y"^^xsd:yearMonthDuration`, `"-0001-02-28"^^xsd:date`}, {"+", `"2000-10-30T11:12:00"^^xsd:dateTime "P3DT1H15M"^^xsd:dayTimeDuration`, `"2000-11-02T12:27:00"^^xsd:dateTime`},
		{"+", `"2004-10-30Z"^^xsd:date "P2DT2H30M0S"^^xsd:dayTimeDuration`, `"2004-11-01Z"^^xsd:date`}, {"-", `"2000-10-30"^^xsd:date "P3DT1H15M"^^xsd:dayTimeDuration`, `"2000-10-26"^^xsd:date`}, {"+", `"23:12:00+03:00"^^xsd:time "P1DT3H15M"^^xsd:dayTimeDuration`, `"02:27:00+03:00"^^xsd:time`},
		{"-", `"08:20:00-05:00"^^xsd:time "P23DT10H10M"^^xsd:dayTimeDuration`, `"22:10:00-05:00"^^xsd:time`}, {"+", `"10:00:00"^^xsd:time "P1Y"^^xsd:yearMonthDuration`, `error`}, {"+", `"PT0.5S"^^xsd:dayTimeDuration "2000-01-01T00:00:00.75Z"^^xsd:dateTime`, `"2000-01-01T00:00:01.25Z"^^xsd:dateTime`},
		{"+", `"2000-01-31T10:00:00"^^xsd:dateTime "P1M1DT1H"^^xsd:duration`, `"2000-03-01T11:00:00"^^xsd:dateTime`}, {"+", `"99999999999-12-31"^^xsd:date "P1Y"^^xsd:yearMonthDuration`, `error`}, {"+", `"99999999999-12-31"^^xsd:date "P9999999D"^^xsd:dayTimeDuration`, `error`},
		{"+", `"P2Y11M"^^xsd:yearMonthDuration "P3Y3M"^^xsd:yearMonthDuration`, `"P6Y2M"^^xsd:yearMonthDuration`}, {"-", `"PT1S"^^xsd:dayTimeDuration "P1D"^^xsd:dayTimeDuration`, `"-PT23H59M59S"^^xsd:dayTimeDuration`}, {"*", `"P2Y11M"^^xsd:yearMonthDuration 2.3`, `"P6Y9M"^^xsd:yearMonthDuration`},
		{"*", `2.1 "PT2H10M"^^xsd:dayTimeDuration`, `"PT4H33M"^^xsd:dayTimeDuration`}, {"/", `"P2Y11M"^^xsd:yearMonthDuration 1.5`, `"P1Y11M"^^xsd:yearMonthDuration`}, {"/", `"P3Y4M"^^xsd:yearMonthDuration "-P1Y4M"^^xsd:yearMonthDuration`, `-2.5`}, {"/", `"PT1H"^^xsd:dayTimeDuration 0`, `error`},
		{"/", `"PT1H"^^xsd:dayTimeDuration "PT30M"^^xsd:dayTimeDuration`, `"2"^^xsd:decimal`}, {"*", `"PT1H"^^xsd:dayTimeDuration "NaN"^^xsd:double`, `error`}, {"+", `"P1Y"^^xsd:yearMonthDuration "P1D"^^xsd:dayTimeDuration`, `error`}, {"+", `"P1Y"^^xsd:duration "P1Y"^^xsd:duration`, `error`},
	})
}
