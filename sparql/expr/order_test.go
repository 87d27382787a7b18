// Tests of the order and of sort keys.

package expr

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/sparql/ast"
	"github.com/trefoildb/trefoil/triple"
)

// genValue generates values of all kinds, many of them next to each other.
func genValue() *rapid.Generator[Value] {
	numbers := []string{"0", "-0", "1", "01", "1.0", "-1", "0.1", "0.10", "1e-1", "9007199254740992", "9007199254740993", "-9007199254740993", "16777217", "16777216", "1e400", "-1e400",
		"INF", "-INF", "NaN", "0.1000000000000000055511151231257827", "1234567890123456789012345678901234567890", "1234567890123456789012345678901234567891", "18446744073709551616", "1e308", "0.3", "x", "0." + strings.Repeat("3", 2500), "0." + strings.Repeat("3", 2500) + "1", "-1" + strings.Repeat("7", 2500)}
	types := []string{"integer", "decimal", "float", "double", "byte", "unsignedLong"}
	dates := []string{"2000-01-01", "2000-01-01Z", "2000-01-01+14:00", "1999-12-31-14:00", "0000-02-29", "-0001-03-01Z", "2000-13-01"}
	clocks := []string{"00:00:00", "24:00:00", "10:00:00Z", "10:00:00.1-14:00", "23:59:59.9999999999999+14:00"}
	durations := []string{"P1Y", "P12M", "PT0S", "P0M", "P1D", "PT24H", "-P1D", "P1M", "P30D", "P1YT1S", "PT0.5S"}
	texts := []string{"", "a", "ab", "a\x00", "a\x00b", "\x00", "é", "日", "\U0001F46A", strings.Repeat("x", 255), strings.Repeat("x", 256) + "a", strings.Repeat("x", 256) + "b", strings.Repeat("\x00", 128), strings.Repeat("\x00", 129) + "y",
		strings.Repeat("x", 1100), strings.Repeat("x", 1100) + "a", strings.Repeat("a", 1030) + "b"}
	pick := func(t *rapid.T, list []string) string { return rapid.SampledFrom(list).Draw(t, "of") }
	return rapid.Custom(func(t *rapid.T) Value {
		kind := rapid.IntRange(0, 15).Draw(t, "kind")
		if kind > 12 { // a triple term
			object := triple.NewTyped(pick(t, numbers), triple.XSD+pick(t, types))
			switch rapid.IntRange(0, 3).Draw(t, "object") {
			case 0:
				object = triple.NewLang(pick(t, texts), pick(t, []string{"en", "EN", "en--ltr"}))
			case 1:
				object = triple.NewTyped(pick(t, clocks), triple.XSDTime)
			}
			for range rapid.IntRange(1, 2).Draw(t, "depth") {
				object = triple.NewTripleTerm(triple.NewIRI("http://a/"+pick(t, texts[:4])), triple.NewIRI("http://a/p"), object)
			}
			return FromTerm(object)
		}
		switch kind {
		case 0:
			return Value{}
		case 1:
			return errType
		case 2:
			return FromTerm(triple.NewBlank(pick(t, []string{"a", "b"})))
		case 3:
			return FromTerm(triple.NewIRI("http://a/" + pick(t, texts)))
		case 4:
			return FromTerm(triple.NewString(pick(t, texts)))
		case 5:
			return FromTerm(triple.NewLang(pick(t, texts), pick(t, []string{"en", "EN", "en-GB", "fr", "en--ltr", "EN--ltr", "en--rtl"})))
		case 6:
			return FromTerm(triple.NewTyped(pick(t, []string{"true", "false", "1", "0", "x"}), triple.XSDBoolean))
		case 7:
			return FromTerm(triple.NewTyped(pick(t, dates), triple.XSDDate))
		case 8:
			return FromTerm(triple.NewTyped(pick(t, clocks), triple.XSDTime))
		case 9:
			day := strings.TrimRight(pick(t, dates[:1])[:10], "Z")
			return FromTerm(triple.NewTyped(day+"T"+pick(t, clocks), triple.XSDDateTime))
		case 10:
			return FromTerm(triple.NewTyped(pick(t, durations), triple.XSD+pick(t, []string{"duration", "dayTimeDuration", "yearMonthDuration"})))
		case 11:
			return FromTerm(triple.NewTyped(pick(t, texts), pick(t, []string{"http://a/t", "http://a/u"})))
		}
		return FromTerm(triple.NewTyped(pick(t, numbers), triple.XSD+pick(t, types)))
	})
}

// TestOrderLaws: Compare must be a total preorder and agree with the operators.
func TestOrderLaws(t *testing.T) {
	values := genValue()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := values.Draw(t, "a"), values.Draw(t, "b"), values.Draw(t, "c")
		if Compare(a, b) != -Compare(b, a) || Compare(a, a) != 0 {
			t.Fatalf("%s and %s: not antisymmetric", a.Term(), b.Term())
		}
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
			t.Fatalf("%s, %s, %s: not transitive", a.Term(), b.Term(), c.Term())
		}
		if smaller := relate(ast.OpLess, &a, &b); smaller.kind == Boolean && smaller.n != 0 && Compare(a, b) >= 0 {
			t.Fatalf("%s < %s, but Compare is %d", a.Term(), b.Term(), Compare(a, b))
		}
		if Compare(a, b) == 0 && a.IsBound() {
			if same := relate(ast.OpEqual, &a, &b); same.kind == Boolean && same.n == 0 && !isNaN(a) {
				t.Fatalf("%s and %s compare 0, but are not equal", a.Term(), b.Term())
			}
		}
		// And as the store keys the terms, if those have different values.
		if a.isLiteral() && b.isLiteral() && !a.Parsed().isDuration() && !b.Parsed().isDuration() && len(a.Term().Value()) < 256 && len(b.Term().Value()) < 256 {
			if x, y := Compare(a, b), triple.CompareTerms(a.Term(), b.Term()); x != 0 && x != y {
				t.Fatalf("%s and %s: Compare is %d, the key order %d", a.Term(), b.Term(), x, y)
			}
		}
	})
}

func isNaN(v Value) bool { return v.Parsed().kind >= Float && v.lexical() == "NaN" }

func TestSortKeys(t *testing.T) {
	values := genValue()
	rapid.Check(t, func(t *rapid.T) {
		descending := rapid.Bool().Draw(t, "descending")
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		x, exactX := AppendSortKey(nil, a, descending)
		y, exactY := AppendSortKey(nil, b, descending)
		want := Compare(a, b)
		if descending {
			want = -want
		}
		got := bytes.Compare(x, y)
		if got != want && (got != 0 || exactX || exactY) {
			t.Fatalf("%s and %s: keys compare %d, values %d (exact %v %v)", a.Term(), b.Term(), got, want, exactX, exactY)
		}
		// Two conditions.
		if exactX && exactY && want == 0 {
			x, _ = AppendSortKey(x, FromInt(1), false)
			y, _ = AppendSortKey(y, FromInt(2), false)
			if bytes.Compare(x, y) >= 0 {
				t.Fatalf("%s and %s: the second condition does not decide", a.Term(), b.Term())
			}
		}
	})
}

func TestOrderOfKinds(t *testing.T) {
	sorted := []string{`_:a`, `_:b`, `<http://a/>`, `<http://b/>`, `"-INF"^^xsd:float`, `-1`, `0.5`, `1`, `1.5e0`, `"INF"^^xsd:double`, `"NaN"^^xsd:double`, `false`, `true`,
		`"2000-01-01T00:00:00Z"^^xsd:dateTime`, `"2000-01-01T00:00:01"^^xsd:dateTime`, `"1999-01-01"^^xsd:date`, `"10:00:00"^^xsd:time`, `""`, `"a"`, `"b"`, `"a"@en`, `"a"@fr`, `"b"@en`,
		`"x"^^<http://a/t>`, `"PT61M"^^xsd:dayTimeDuration`, `"PT2H"^^xsd:dayTimeDuration`, `"x"^^xsd:integer`, `"P11M"^^xsd:yearMonthDuration`, `"P1Y"^^xsd:yearMonthDuration`}
	values := []Value{{}}
	for _, s := range sorted {
		values = append(values, FromTerm(wantTerm(t, s)))
	}
	for i := range values[1:] {
		if Compare(values[i], values[i+1]) >= 0 {
			t.Errorf("%s does not sort before %s", values[i].Term(), values[i+1].Term())
		}
	}
	for _, pair := range [][2]string{{`1`, `"01"^^xsd:byte`}, {`1`, `1.0`}, {`"a"@en`, `"a"@EN`}, {`"24:00:00"^^xsd:time`, `"00:00:00"^^xsd:time`}, {`true`, `"1"^^xsd:boolean`}} {
		if Compare(FromTerm(wantTerm(t, pair[0])), FromTerm(wantTerm(t, pair[1]))) != 0 {
			t.Errorf("%s and %s are not one place in the order", pair[0], pair[1])
		}
	}
}

// TestExactArithmetic compares with math/big.
func TestExactArithmetic(t *testing.T) {
	digits := rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?`)
	rapid.Check(t, func(t *rapid.T) {
		var values [2]Value
		var rats [2]*big.Rat
		for i := range values {
			s := digits.Draw(t, "number")
			values[i] = FromTerm(triple.NewTyped(s, triple.XSDDecimal)).Parsed()
			rats[i], _ = new(big.Rat).SetString(s)
		}
		if got, want := compareExact(values[0], values[1]), rats[0].Cmp(rats[1]); got != want {
			t.Fatalf("compare %s and %s: %d, want %d", rats[0], rats[1], got, want)
		}
		for op, want := range map[ast.Op]*big.Rat{
			ast.OpAdd: new(big.Rat).Add(rats[0], rats[1]), ast.OpSubtract: new(big.Rat).Sub(rats[0], rats[1]), ast.OpMultiply: new(big.Rat).Mul(rats[0], rats[1]),
		} {
			v := arithmetic(op, values[0], values[1])
			got, ok := new(big.Rat).SetString(v.Term().Value())
			if !ok || got.Cmp(want) != 0 {
				t.Fatalf("%s %s %s = %s, want %s", rats[0], op, rats[1], v.Term(), want)
			}
			again := FromTerm(v.Term()).Parsed()
			if compareExact(again, v) != 0 || again.canonical() != v.canonical() {
				t.Fatalf("%s comes back as %s", v.canonical(), again.canonical())
			}
		}
		if rats[1].Sign() != 0 {
			v := values[0].quotient(values[1])
			got, _ := new(big.Rat).SetString(v.Term().Value())
			off := new(big.Rat).Sub(got, new(big.Rat).Quo(rats[0], rats[1]))
			bound := new(big.Rat).Mul(new(big.Rat).Abs(got), big.NewRat(1, 1e18))
			bound.Mul(bound, big.NewRat(1, 1e15))
			if off.Abs(off).Cmp(bound) > 0 {
				t.Fatalf("%s / %s = %s", rats[0], rats[1], v.Term())
			}
		}
		down := values[0].integral(func(int) bool { return false })
		floor, _ := new(big.Rat).SetString(down.exactText())
		if !floor.IsInt() || floor.Cmp(rats[0]) > 0 || new(big.Rat).Add(floor, big.NewRat(1, 1)).Cmp(rats[0]) <= 0 {
			t.Fatalf("floor of %s is %s", rats[0], floor)
		}
	})
}

// TestInstantsComeBack: a canonical form must parse to its original value.
func TestInstantsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]Kind{DateTime, Date, Time}).Draw(t, "kind")
		v := Value{kind: kind, zone: noZone}
		if rapid.Bool().Draw(t, "zoned") {
			v.zone = int16(rapid.IntRange(-14*60, 14*60).Draw(t, "zone"))
		}
		at := Value{kind: Decimal, n: rapid.Int64Range(-1e17, 1e17).Draw(t, "at"), scale: uint8(rapid.IntRange(4, 14).Draw(t, "scale"))}
		v = v.instantAt(at)
		again := FromTerm(v.Term()).Parsed()
		if c, ok := compareInstants(&v, &again); c != 0 || !ok || again.kind != kind || again.zone != v.zone {
			t.Fatalf("%s: %+v comes back as %+v", v.Term(), v, again)
		}
	})
}

func TestAggregates(t *testing.T) {
	for _, c := range []struct {
		f        ast.AggregateFunc
		distinct bool
		values   string
		want     string
	}{
		{ast.AggCount, false, `1 1 error 2`, `3`}, {ast.AggCount, true, `1 1 error "01"^^xsd:integer`, `2`}, {ast.AggCount, false, ``, `0`},
		{ast.AggSum, false, `1 2.5 1`, `4.5`}, {ast.AggSum, true, `1 2.5 1`, `3.5`}, {ast.AggSum, false, ``, `0`}, {ast.AggSum, false, `1 error 2`, `error`}, {ast.AggSum, false, `1 "x" 2`, `error`}, {ast.AggSum, false, `1 unbound`, `error`},
		{ast.AggSum, false, `1.0 2.2 3.5 2.2 2.2`, `11.1`}, {ast.AggAvg, false, `1.0 2.2 3.5 2.2 2.2`, `2.22`}, {ast.AggAvg, false, `1 2`, `1.5`}, {ast.AggAvg, true, `1 1 2`, `1.5`}, {ast.AggAvg, false, ``, `0`}, {ast.AggAvg, false, `1 error`, `error`}, {ast.AggAvg, false, `1 1e0`, `"1.0E0"^^xsd:double`},
		{ast.AggMin, false, `2 1.0 "a" 1`, `1.0`}, {ast.AggMax, false, `2 1.0 "a" 1`, `"a"`}, {ast.AggMin, false, `2 <http://a/> _:b`, `_:b`}, {ast.AggMin, false, ``, `error`}, {ast.AggMax, false, `1 error`, `error`}, {ast.AggMax, true, `"02"^^xsd:integer 1`, `"02"^^xsd:integer`},
		{ast.AggSample, false, `error 7`, `7`}, {ast.AggSample, false, ``, `error`}, {ast.AggSample, true, `7 8`, `7`},
		{ast.AggGroupConcat, false, `1 "a"@en <http://a/>`, `"1|a|http://a/"`}, {ast.AggGroupConcat, true, `"a" "b" "a"`, `"a|b"`}, {ast.AggGroupConcat, false, ``, `""`}, {ast.AggGroupConcat, false, `1 error`, `error`}, {ast.AggGroupConcat, false, `"" ""`, `"|"`}, {ast.AggGroupConcat, false, `_:b`, `error`},
	} {
		grown := 0
		var acc *Accumulator
		env := testEnv()
		compile := func(arg ast.Expr) *Aggregate {
			a, err := CompileAggregate(&ast.Aggregate{Func: c.f, Distinct: c.distinct, Arg: arg, Separator: "|"}, Scope{}, nil)
			require.NoError(t, err)
			return a
		}
		args := parseArgs(t, c.values)
		acc = compile(number("1")).New(func(n int) error { grown += n; return nil })
		for _, arg := range args {
			acc.aggregate = compile(arg)
			require.NoError(t, acc.Add(env, Terms{}))
		}
		got := acc.Result()
		if c.want == "error" {
			if got.IsBound() {
				t.Errorf("%s(%s) = %s, want an error", c.f, c.values, got.Term())
			}
		} else if want := wantTerm(t, c.want); got.Term() != want {
			t.Errorf("%s(%s) = %s (%v), want %s", c.f, c.values, got.Term(), got.Err(), want)
		}
		if c.distinct && c.f == ast.AggCount && grown == 0 {
			t.Error("COUNT(DISTINCT) accounts no memory")
		}
	}
}

func TestCountDistinctRows(t *testing.T) {
	for distinct, want := range map[bool]int64{true: 3, false: 4} {
		a, _ := CompileAggregate(&ast.Aggregate{Func: ast.AggCount, Distinct: distinct}, Scope{}, []int{0, 1})
		acc := a.New(nil)
		one := triple.NewString("1")
		for _, row := range []Terms{{one, {}}, {{}, one}, {one, one}, {one, {}}} {
			require.NoError(t, acc.Add(testEnv(), row))
		}
		if got := acc.Result(); got.n != want {
			t.Errorf("distinct %v: %d, want %d", distinct, got.n, want)
		}
	}
}

func TestSortIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(genValue(), 0, 12).Draw(t, "values")
		slices.SortStableFunc(values, Compare)
		if !slices.IsSortedFunc(values, Compare) {
			t.Fatal("not sorted")
		}
	})
}

// TestSameKeys: terms that sameTerm calls the same have the same key, and other keys are of other terms.
func TestSameKeys(t *testing.T) {
	values := genValue()
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		if !a.IsBound() || !b.IsBound() {
			if _, keyed := errType.AppendSameKey(nil); keyed != NoneEqual {
				t.Fatal("an error has a key")
			}
			return
		}
		x, _ := a.AppendSameKey(nil)
		y, _ := b.AppendSameKey(nil)
		if same := sameTerm(nil, []Value{a, b}); bytes.Equal(x, y) != (same.n != 0) {
			t.Fatalf("%s and %s: keys %x and %x, sameTerm is %s", a.Term(), b.Term(), x, y, same.Term())
		}
	})
}
