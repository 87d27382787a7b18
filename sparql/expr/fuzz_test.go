// Fuzz tests: no expression may panic or take long.

package expr

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trefoildb/trefoil/sparql/expr/regex"
	"github.com/trefoildb/trefoil/triple"
)

// FuzzCast: the result of a cast must be well-typed, and must not change when cast again.
func FuzzCast(f *testing.F) {
	for _, s := range []string{"1", "-01.50", "1e400", "INF", "NaN", "true", "2000-02-29T24:00:00.50-14:00", "-0001-02-28Z", "23:59:59.9999999999", "-P1Y2M3DT4H5M6.7S", "P", " 1 ", "99999999999-12-31", "0x1p-2", "1_0", strings.Repeat("9", 40)} {
		for kind := range uint8(6) {
			f.Add(s, kind, kind+3)
		}
	}
	types := []string{"integer", "decimal", "double", "float", "boolean", "string", "dateTime", "date", "time", "dayTimeDuration", "yearMonthDuration", "duration", "byte", "unsignedLong", "negativeInteger"}
	f.Fuzz(func(t *testing.T, lexical string, from, to uint8) {
		if !utf8.ValidString(lexical) {
			return
		}
		datatype := triple.XSD + types[int(to)%len(types)]
		cast, ok := castOf(datatype)
		if !ok {
			t.Fatal("no cast")
		}
		v := cast(FromTerm(triple.NewTyped(lexical, triple.XSD+types[int(from)%len(types)])))
		if !v.IsBound() {
			return
		}
		term := v.Term()
		again := FromTerm(term).Parsed()
		if term.Datatype() != datatype || again.kind == IllTyped {
			t.Fatalf("%q of %d as %s: %s", lexical, from, datatype, term)
		}
		if twice := cast(again); twice.Term() != term {
			t.Fatalf("%s cast again: %s", term, twice.Term())
		}
		if key := triple.AppendWholeTerm(nil, term); len(lexical) < 1000 && !again.isString() && !again.isDuration() && key[0] == UnorderedTag {
			t.Fatalf("%s is no value in package triple", term)
		}
	})
}

// FuzzRegex: a translated pattern compiles, or is refused with a reason. The search for its literals
// must not change what it matches.
func FuzzRegex(f *testing.F) {
	for _, s := range []string{`^a.b$`, `[a-z-[aeiou]]`, `\p{Lu}\P{IsGreek}`, `\i\c*\d\s\w\W`, `(a)\1`, `a{2,3}`, `a{`, `[^\]]`, `(?:x|y)*?`, `(?i)x`, `[--a]`, `[a-\d]`, `[]`, `\`, "é+"} {
		f.Add(s, "", "aé1 b")
		f.Add(s, "smix", "AÉ1\nb")
	}
	f.Add("a.b", "q", "a.b")
	for _, s := range []string{"Kiss", "(foo|bar)s?", "x*kelvin.*Stra\u00dfe", "\u017f+k"} {
		f.Add(s, "i", "a \u212aI\u017fS of foo, BARS, \u212aelvinSTRA\u00dfE")
		f.Add(s, "", "kiss bar")
	}
	f.Fuzz(func(t *testing.T, pattern, flags, text string) {
		re, err := regex.Compile(pattern, flags)
		if err != nil {
			if !errors.Is(err, regex.ErrMalformed) && !errors.Is(err, regex.ErrUnsupported) {
				t.Fatalf("%q: %v", pattern, err)
			}
			return
		}
		matched := re.MatchString(text)
		if re.Matches(text) != matched {
			t.Fatalf("%q with %q on %q: %v with its literals, else %v", pattern, flags, text, !matched, matched)
		}
		// If a pattern has only common syntax, both must agree.
		if flags == "" && utf8.ValidString(text) && !strings.ContainsAny(pattern, `\.[{(`) {
			if want, err := regexp.MatchString(pattern, text); err != nil || want != matched {
				t.Fatalf("%q on %q: %v, want %v (%v)", pattern, text, matched, want, err)
			}
		}
		_, _ = replaceAll(re, text, "$0$1", false)
	})
}

// FuzzTerms: no literal makes an operator or a sort key panic.
func FuzzTerms(f *testing.F) {
	f.Add("1", "2.50", uint8(0), uint8(1))
	f.Add("2000-01-01T00:00:00Z", "P1M", uint8(6), uint8(10))
	types := []string{"integer", "decimal", "double", "float", "boolean", "string", "dateTime", "date", "time", "dayTimeDuration", "yearMonthDuration", "duration", "byte"}
	f.Fuzz(func(t *testing.T, x, y string, from, to uint8) {
		a := FromTerm(triple.NewTyped(x, triple.XSD+types[int(from)%len(types)]))
		b := FromTerm(triple.NewTyped(y, triple.XSD+types[int(to)%len(types)]))
		for _, op := range operators {
			switch {
			case op.IsArithmetic():
				if v := arithmetic(op, a, b); v.IsBound() && FromTerm(v.Term()).Kind() == IllTyped {
					t.Fatalf("%s %s %s = %s", a.Term(), op, b.Term(), v.Term())
				}
			case op.IsComparison():
				relate(op, &a, &b)
			}
		}
		if Compare(a, b) != -Compare(b, a) {
			t.Fatalf("%s and %s: order", a.Term(), b.Term())
		}
		AppendSortKey(nil, a, true)
	})
}
