// Tests of the keys of numbers.

package triple

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// TestNumbersAscend: one line of numbers of all types, each above the one
// before; those in one row are equal in value.
func TestNumbersAscend(t *testing.T) {
	zeros := strings.Repeat("0", 399)
	rows := [][]Term{
		{NewTyped("-INF", XSDFloat), NewTyped("-INF", XSDDouble), NewTyped("-1E400", XSDDouble), NewTyped("-1e39", XSDFloat)},
		{NewTyped("-10"+zeros, XSDDecimal), NewTyped("-10"+zeros, XSDInteger)},
		{NewTyped("-1.7976931348623157e308", XSDDouble)},
		{NewTyped("-9007199254740993", XSDInteger), NewTyped("-9007199254740993.0", XSDDecimal), NewTyped("-9007199254740993", XSD+"long")},
		{NewTyped("-9007199254740992", XSDInteger), NewTyped("-9007199254740993", XSDDouble)},
		{NewTyped("-1.1", XSDDouble)},
		{NewTyped("-1.1", XSDDecimal)}, // the double is a little below
		{NewTyped("-1", XSDInteger), NewTyped("-1.0", XSDDecimal), NewTyped("-1e0", XSDFloat), NewTyped("-01", XSD+"negativeInteger")},
		{NewTyped("-5e-324", XSDDouble)},
		{NewTyped("-0."+zeros+"1", XSDDecimal)},
		{NewTyped("0", XSDInteger), NewTyped("-0", XSDDouble), NewTyped("-0.0", XSDFloat), NewTyped(".0", XSDDecimal), NewTyped("1e-400", XSDDouble),
			NewTyped("1e-46", XSDFloat), NewTyped("-0", XSD+"unsignedByte")},
		{NewTyped("0."+zeros+"1", XSDDecimal)},
		{NewTyped("4.9e-324", XSDDouble), NewTyped("5e-324", XSDDouble)},
		{NewTyped("2.2250738585072014e-308", XSDDouble)},
		{NewTyped("1e-45", XSDFloat)},
		{NewTyped("0.1", XSDDecimal), NewTyped("0.10", XSDDecimal), NewTyped(".1", XSDDecimal)},
		{NewTyped("1e-1", XSDDouble), NewTyped("0.1", XSDDouble), NewTyped("0.1000000000000000055511151231257827021181583404541015625", XSDDecimal)},
		{NewTyped("0.1", XSDFloat)},
		{NewTyped(".5", XSDDecimal), NewTyped("0.5", XSDFloat), NewTyped("5e-1", XSDDouble)},
		{NewTyped("1", XSDInteger), NewTyped("01", XSDInteger), NewTyped("+1", XSDInteger), NewTyped("1.", XSDDecimal), NewTyped("1", XSD+"positiveInteger")},
		{NewTyped("5.", XSDDecimal), NewTyped("5", XSDDouble)},
		{NewTyped("16777216", XSDInteger), NewTyped("16777217", XSDFloat)},
		{NewTyped("16777217", XSDInteger), NewTyped("16777217", XSDDouble)},
		{NewTyped("9007199254740992", XSDInteger), NewTyped("9007199254740993", XSDDouble)},
		{NewTyped("9007199254740992.5", XSDDecimal)},
		{NewTyped("9007199254740993", XSDInteger), NewTyped("9007199254740993", XSD+"unsignedLong")},
		{NewTyped("9007199254740994", XSDInteger)},
		{NewTyped("9223372036854775807", XSD+"long")},
		{NewTyped("9223372036854775808", XSDInteger), NewTyped("9223372036854775807", XSDDouble)},
		{NewTyped("1234567890123456789012345678901234567890", XSDInteger)},
		{NewTyped("1234567890123456789012345678901234567890.0000000000000000000000001", XSDDecimal)},
		{NewTyped("1234567890123456789012345678901234567891", XSDDecimal)},
		{NewTyped("1.7976931348623157e308", XSDDouble)},
		{NewTyped("10"+zeros, XSDInteger), NewTyped("10"+zeros+".0", XSDDecimal)}, // 1E400: finite
		{NewTyped("INF", XSDDouble), NewTyped("+INF", XSDFloat), NewTyped("1E400", XSDDouble), NewTyped("3.5e38", XSDFloat)},
		{NewTyped("NaN", XSDDouble), NewTyped("NaN", XSDFloat)},
		// Ill-typed ones come after all numbers.
		{NewTyped("nan", XSDDouble)}, {NewTyped("x", XSDInteger)},
	}
	var before []byte
	for i, row := range rows {
		var value []byte
		for _, term := range row {
			tag, v, ok := appendValueBytes(nil, term)
			if wantOK := i < len(rows)-2; ok != wantOK {
				t.Fatalf("%s is a number: %v, want %v", term, ok, wantOK)
			}
			if value != nil && !bytes.Equal(v, value) {
				t.Errorf("%.60s is not equal to %.60s", term, row[0])
			}
			value = v
			if class, _ := oracleClass(term); ok != (class == oracleNumber) || ok && tag != tagNumber {
				t.Errorf("%s: tag %x, oracle's class %d", term, tag, class)
			}
			key, _ := AppendTerm(nil, term)
			if bytes.Compare(before, key) >= 0 {
				t.Errorf("%.60s is not above %.60s", term, rows[i-1][0])
			}
		}
		for _, term := range row {
			if key, _ := AppendTerm(nil, term); bytes.Compare(key, before) > 0 {
				before = key
			}
		}
	}
}

// TestNumberForms: lexical spaces and ranges.
func TestNumberForms(t *testing.T) {
	tests := []struct{ datatype, good, bad string }{
		{"integer", "0 00 -0 +7 123456789012345678901234567890", ". 1. 1.0 1e0 - + --1 +-1 0x1 1_000 ١"},
		{"decimal", "0 .5 5. -0.50 +1.", ". - 1e0 INF NaN 1.2.3 1,5"},
		{"double", "1 .5 5. 1e0 1E+5 -1.5e-5 INF +INF -INF NaN 1e99999999999999999999", "e5 1e 1e+ -NaN +NaN Infinity inf nan 0x1p2 1_0 1e5.0"},
		{"float", "1 3.5e38 1e-50 NaN", "1f 1d"},
		{"byte", "127 -128 007", "128 -129 1000"},
		{"short", "32767 -32768", "32768 -32769"},
		{"int", "2147483647 -2147483648 +0", "2147483648 -2147483649"},
		{"long", "9223372036854775807 -9223372036854775808", "9223372036854775808 -9223372036854775809"},
		{"unsignedByte", "255 0 -0 +255", "256 -1"},
		{"unsignedShort", "65535", "65536 -1"},
		{"unsignedInt", "4294967295", "4294967296"},
		{"unsignedLong", "18446744073709551615", "18446744073709551616"},
		{"nonNegativeInteger", "0 -0 99999999999999999999", "-1"},
		{"positiveInteger", "1 +1", "0 -0 +0 -1"},
		{"nonPositiveInteger", "0 +0 -5", "1"},
		{"negativeInteger", "-1 -99999999999999999999", "0 -0 1"},
	}
	for _, test := range tests {
		for lexical := range strings.FieldsSeq(test.good) {
			if _, ok := NumericValue(NewTyped(lexical, XSD+test.datatype)); !ok {
				t.Errorf("%s: %q is not a number", test.datatype, lexical)
			}
		}
		for lexical := range strings.FieldsSeq(test.bad) {
			if v, ok := NumericValue(NewTyped(lexical, XSD+test.datatype)); ok {
				t.Errorf("%s: %q is the number %v", test.datatype, lexical, v)
			}
		}
		for _, lexical := range []string{"", " 1", "1 ", "\n1"} {
			if _, ok := NumericValue(NewTyped(lexical, XSD+test.datatype)); ok {
				t.Errorf("%s: %q is a number", test.datatype, lexical)
			}
		}
	}
}

func TestNumericValue(t *testing.T) {
	tests := []struct {
		term Term
		want float64
		ok   bool
	}{
		{NewTyped("42", XSDInteger), 42, true},
		{NewTyped("-1.5", XSDDecimal), -1.5, true},
		{NewTyped("-0", XSDDouble), 0, true},
		{NewTyped("9007199254740993", XSDInteger), 9007199254740992, true},
		{NewTyped("-9007199254740993", XSDInteger), -9007199254740994, true},
		{NewTyped("1"+strings.Repeat("0", 400), XSDDecimal), math.MaxFloat64, true},
		{NewTyped("-INF", XSDFloat), math.Inf(-1), true},
		{NewTyped("NaN", XSDFloat), math.NaN(), true},
		{NewString("42"), 0, false},
		{NewIRI("http://ex/42"), 0, false},
		{Term{}, 0, false},
	}
	for _, test := range tests {
		got, ok := NumericValue(test.term)
		if ok != test.ok || got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("NumericValue(%.40s) = %v, %v, want %v, %v", test.term, got, ok, test.want, test.ok)
		}
	}
}

// TestNumberOfManyDigits: time is linear in the digits.
func TestNumberOfManyDigits(t *testing.T) {
	lexical := "0." + strings.Repeat("1234567890", MaxTermBytes/10-10)
	term := NewTyped(lexical, XSDDecimal)
	if err := term.Check(); err != nil {
		t.Fatal(err)
	}
	key, long := AppendTerm(nil, term)
	if !long || len(key) > 1+2*longPrefix+2+2*hashBytes {
		t.Fatalf("key of %d bytes, long %v", len(key), long)
	}
}
