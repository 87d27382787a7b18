// Generators of terms that are hard to tell apart.

package triple

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Generators of similar terms: shared beginnings, bytes with a meaning in the key format, lengths
// at the limits of long terms, numbers next to doubles, instants next to each other.

// lengths at which a term's form in a key changes.
var lengths = []int{0, 1, 127, 128, 254, 255, 256, 257, 511, 512, 1022, 1023, 1024, 1025, 1100}

// genText generates strings; if valid is set, of valid UTF-8.
func genText(valid bool) *rapid.Generator[string] {
	pieces := []string{"a", "ab", "b", "Z", "\x00", "\x00\x00", "\x01", "\x02", "\x03", "é", "日", "😀", "\U0010FFFF",
		" ", "\n", "\r", "\t", `"`, `\`, "_", "~", "en", "\u0080", "\uFFFD"}
	if !valid {
		pieces = append(pieces, "\xFF", "\x00\xFF", "\xFF\xFF", "\xC3", "\x80", "\xED\xA0\x80")
	}
	piece := rapid.SampledFrom(pieces)
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		if rapid.IntRange(0, 3).Draw(t, "padded") == 0 {
			// The same few pads again and again, so that terms share beginnings.
			pad := rapid.SampledFrom([]string{"x", "é", "\x00", "日"}).Draw(t, "pad")
			length := rapid.SampledFrom(lengths).Draw(t, "length")
			b.WriteString(strings.Repeat("y", rapid.IntRange(0, 1).Draw(t, "shift")))
			b.WriteString(strings.Repeat(pad, length/len(pad)))
		}
		for _, p := range rapid.SliceOfN(piece, 0, 4).Draw(t, "pieces") {
			b.WriteString(p)
		}
		return b.String()
	})
}

// genIRI generates absolute IRIs.
func genIRI() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		iri := rapid.SampledFrom([]string{"a:", "http://ex/", "http://ex/a", "http://ex.org/", XSD, RDF}).Draw(t, "base")
		if rapid.IntRange(0, 5).Draw(t, "padded") == 0 {
			iri += strings.Repeat("x", rapid.SampledFrom(lengths).Draw(t, "length"))
		}
		for _, p := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "#", "é", "日", "-", "~", "%20"}), 0, 3).Draw(t, "pieces") {
			iri += p
		}
		return iri
	})
}

var nastyNumbers = []string{"0", "-0", "+0", "00", "0.0", "-0.0", ".0", "1", "01", "+1", "1.0", "1.", "-1", "-1.0", ".5", "5.", "0.1", "0.10", "-.5",
	"1e-1", "1E-1", "10e-2", "0.1e0", "0.1000000000000000055511151231257827021181583404541015625",
	"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994", "-9007199254740993", "9007199254740992.5",
	"1234567890123456789012345678901234567890", "1234567890123456789012345678901234567891", "0.1234567890123456789012345678901234567890",
	"1E400", "-1E400", "1e308", "1.7976931348623157e308", "1.7976931348623159e308", "4.9e-324", "2e-324", "1e-400", "-1e-400", "2.2250738585072014e-308",
	"3.4028235e38", "3.5e38", "16777217", "16777216", "1e-45", "1.5", "1.50", "1.5e0", "INF", "+INF", "-INF", "NaN", "nan", "inf", "1e", "e1", "", ".", "+", "1_0", "0x1p-2", " 1", "1 ",
	"127", "128", "-128", "-129", "255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296",
	"9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
	"1" + strings.Repeat("0", 400), "1" + strings.Repeat("0", 399) + "1", "-1" + strings.Repeat("0", 400), "0." + strings.Repeat("0", 400) + "1", "-0." + strings.Repeat("0", 400) + "1"}

func genNumber() *rapid.Generator[string] {
	digits := rapid.StringMatching(`[0-9]{1,22}`)
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 5).Draw(t, "form") {
		case 0, 1:
			return rapid.SampledFrom(nastyNumbers).Draw(t, "nasty")
		case 2:
			return rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign") + digits.Draw(t, "whole") + "." + digits.Draw(t, "fraction")
		case 3:
			return rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign") + digits.Draw(t, "whole") + fmt.Sprintf("e%d", rapid.IntRange(-330, 330).Draw(t, "exponent"))
		case 4: // many digits, so that the value bytes alone pass 256 and 1024 units
			n := rapid.SampledFrom([]int{100, 480, 484, 486, 488, 500, 700, 1000, 2100}).Draw(t, "digits")
			return rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign") + rapid.SampledFrom([]string{"1", "0.", "12345.", "-0."}).Draw(t, "begin") +
				strings.Repeat("7", n) + digits.Draw(t, "tail")
		}
		return strings.Repeat("0", rapid.SampledFrom(lengths).Draw(t, "zeros")) + rapid.SampledFrom([]string{"1", "2", "1.5", ""}).Draw(t, "number")
	})
}

func genInstant() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		date := rapid.SampledFrom([]string{"2024-02-29", "2023-02-29", "2024-03-01", "1900-02-29", "2000-02-29", "0000-01-01", "-0001-12-31", "-0000-01-01", "0001-01-01",
			"1969-12-31", "1970-01-01", "12345-06-07", "012345-06-07", "99999999999-12-31", "-99999999999-01-01", "100000000000-01-01", "2024-13-01", "2024-00-10", "2024-04-31", "24-01-01"}).Draw(t, "date")
		clock := rapid.SampledFrom([]string{"00:00:00", "24:00:00", "24:00:00.0", "24:00:01", "23:59:59", "23:59:60", "12:00:00", "12:00:00.0", "12:00:00.10", "12:00:00.1", "12:00:00.1000001",
			"12:00:00.", "12:0:00", "12:60:00", "23:59:59.999999999999", "10:00:00", "14:00:00"}).Draw(t, "time")
		zone := rapid.SampledFrom([]string{"", "", "Z", "+00:00", "-00:00", "+14:00", "-14:00", "+14:01", "+02:00", "-05:30", "z", "+2:00", "+02:60"}).Draw(t, "zone")
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			return date + zone
		case 1:
			return clock + zone
		}
		if rapid.IntRange(0, 20).Draw(t, "odd") == 0 {
			clock += "." + strings.Repeat("3", rapid.SampledFrom(lengths).Draw(t, "length"))
		}
		return date + "T" + clock + zone
	})
}

func genDatatype() *rapid.Generator[string] {
	numeric := make([]string, len(numericNames))
	for i, name := range numericNames {
		numeric[i] = XSD + name
	}
	return rapid.SampledFrom(append(numeric, XSDInteger, XSDDecimal, XSDDecimal, XSDDouble, XSDDouble, XSDFloat))
}

// genTerm generates terms of all kinds and classes. If valid is set, they pass [Term.Check].
func genTerm(valid bool) *rapid.Generator[Term] {
	text := genText(valid)
	tag := rapid.SampledFrom([]string{"en", "EN", "en-GB", "en-gb", "EN-gb", "e", "de", "en--ltr", "EN--ltr", "en-GB--rtl", "zh-Hant-TW", "x" + strings.Repeat("-abcdefgh", 15)})
	return rapid.Custom(func(t *rapid.T) Term {
		switch rapid.IntRange(0, 11).Draw(t, "class") {
		case 0:
			if valid {
				return NewBlank(rapid.SampledFrom([]string{"a", "b", "ab", "a.b", "0", "é", "b" + strings.Repeat("x", 1030)}).Draw(t, "label"))
			}
			return NewBlank(text.Draw(t, "label"))
		case 1:
			return NewIRI(genIRI().Draw(t, "iri"))
		case 2, 3, 4:
			return NewTyped(genNumber().Draw(t, "number"), genDatatype().Draw(t, "datatype"))
		case 5, 6:
			return NewTyped(genInstant().Draw(t, "instant"), rapid.SampledFrom([]string{XSDDateTime, XSDDate, XSDTime}).Draw(t, "datatype"))
		case 7:
			return NewTyped(rapid.SampledFrom([]string{"true", "false", "1", "0", "TRUE", ""}).Draw(t, "boolean"), XSDBoolean)
		case 8:
			return NewString(text.Draw(t, "string"))
		case 9:
			return NewLang(text.Draw(t, "string"), tag.Draw(t, "tag"))
		case 10:
			return genTripleTerm(valid).Draw(t, "triple term")
		}
		datatype := rapid.OneOf(genIRI(), rapid.SampledFrom([]string{XSD + "gYear", XSD + "dateTimeStamp", "a:" + strings.Repeat("d", 253), "a:" + strings.Repeat("d", 254), "a:" + strings.Repeat("d", 255) + "e"})).Draw(t, "datatype")
		if needsLang(datatype) {
			datatype = "a:b"
		}
		return NewTyped(text.Draw(t, "lexical"), datatype)
	})
}

// genTripleTerm generates triple terms, some of them nested.
func genTripleTerm(valid bool) *rapid.Generator[Term] {
	resource := rapid.SampledFrom([]Term{NewBlank("a"), NewBlank("ab"), NewIRI("a:"), NewIRI("a:" + strings.Repeat("x", 250))})
	return rapid.Custom(func(t *rapid.T) Term {
		s := resource.Draw(t, "subject")
		if !valid && rapid.IntRange(0, 3).Draw(t, "odd") == 0 {
			s = NewIRI(genText(false).Draw(t, "iri"))
		}
		return NewTripleTerm(s, NewIRI(genIRI().Draw(t, "predicate")), genTerm(valid).Draw(t, "object"))
	})
}

// genTermNear generates a term that is often close to t0: the same but for its
// end, its datatype or its tag.
func genTermNear(t0 Term, valid bool) *rapid.Generator[Term] {
	return rapid.Custom(func(t *rapid.T) Term {
		u := t0
		switch rapid.IntRange(0, 6).Draw(t, "change") {
		case 0:
			return genTerm(valid).Draw(t, "other")
		case 1:
			return t0
		case 2:
			if u.kind == TripleTerm {
				inner, _ := u.Triple()
				u = NewTripleTerm(inner.Subject, inner.Predicate, genTermNear(inner.Object, valid).Draw(t, "object"))
			} else if u.kind == Literal {
				u.value += rapid.SampledFrom([]string{"0", "1", "a", "\x00", ".", ".0"}).Draw(t, "tail")
			} else {
				u.value += "a"
			}
		case 3:
			if u.kind == Literal && len(u.value) > 0 {
				u.value = u.value[:len(u.value)-1]
			}
		case 4:
			if u.kind == Literal && u.lang == "" {
				u.datatype = genDatatype().Draw(t, "datatype")
			}
		case 5:
			if u.lang != "" {
				u.lang = strings.ToUpper(u.Lang()) + strings.TrimPrefix(u.lang, u.Lang())
			}
		case 6:
			if u.kind == Literal && len(u.value) > 256 {
				at := rapid.SampledFrom([]int{100, 254, 255, 256, len(u.value) - 1}).Draw(t, "at")
				u.value = u.value[:at] + "8" + u.value[at+1:]
			}
		}
		if valid && u.Check() != nil {
			return t0
		}
		return u
	})
}

// genTriple generates triples of few distinct terms.
func genTriple(valid bool) *rapid.Generator[Triple] {
	resource := rapid.OneOf(
		rapid.Map(genIRI(), NewIRI),
		rapid.SampledFrom([]Term{NewBlank("a"), NewBlank("b"), NewBlank("ab"), NewIRI("http://ex/s")}))
	return rapid.Custom(func(t *rapid.T) Triple {
		tr := Triple{
			Subject:   resource.Draw(t, "subject"),
			Predicate: NewIRI(genIRI().Draw(t, "predicate")),
			Object:    genTerm(valid).Draw(t, "object"),
		}
		if rapid.Bool().Draw(t, "named") {
			tr.Graph = resource.Draw(t, "graph")
		}
		return tr
	})
}
