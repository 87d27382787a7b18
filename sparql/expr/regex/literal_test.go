// Tests of the literals of regular expressions.

package regex

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
	"testing"
	"time"
)

// TestLiterals: a match must contain one of the literals that are found.
func TestLiterals(t *testing.T) {
	for _, test := range []struct {
		pattern, want string
		whole         bool
	}{
		{"abc", "abc", true},
		{"(?i)AbC", "abc fold", true},
		{"(?i)Stra\u00dfe", "stra fold", false},
		{"a.*(bcd)+e?", "bcd", false},
		{"x?(?:foo|barn){2,}", "foo barn", false},
		{"foo|x*", "", false},
		{"^abc", "", false},
		{"[ab]+", "", false},
		{"a|b|c|dd|ee", "", false},
		{"(?:ab|cd|ef|gh|ij)", "", false},
	} {
		re, err := syntax.Parse(test.pattern, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		list, whole := literalsOf(re)
		var got []string
		for _, l := range list {
			if got = append(got, l.text); l.fold {
				got = append(got, "fold")
			}
		}
		if strings.Join(got, " ") != test.want || whole != test.whole {
			t.Errorf("%s: %v, whole %v; want %s, %v", test.pattern, got, whole, test.want, test.whole)
		}
	}
}

// TestLiteralsAgree: with the search for literals, random patterns must match the same random texts
// as without.
func TestLiteralsAgree(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	some := func(n int, pieces ...string) string {
		var b strings.Builder
		for range 1 + random.IntN(n) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		return b.String()
	}
	letters := []string{"a", "A", "b", "k", "K", "s", "S", "\u212a", "\u017f", "\u00e9", "\u00c9", "\u0131", " ", "\n"}
	parts := append([]string{"ab", "sk", "Ka", ".*", ".", "a?", "b+", "(as|kb)", "(k|S)+", "[ab]", "s{2}", "^", "$", "|", "\\s"}, letters...)
	matches := 0
	for range 30_000 {
		pattern, flags := some(5, parts...), some(2, "", "i", "i", "s", "m", "x", "q")
		re, err := Compile(pattern, flags)
		if err != nil {
			continue
		}
		for range 4 {
			text := some(12, append([]string{"ab", "sk", "\xff", "\xc5", "\xe2\x84"}, letters...)...)
			want := re.MatchString(text)
			if got := re.Matches(text); got != want {
				t.Fatalf("seed %d: %q with %q on %q: %v, want %v", seed, pattern, flags, text, got, want)
			}
			if want {
				matches++
			}
		}
	}
	if matches < 1000 {
		t.Fatalf("seed %d: %d matches only", seed, matches)
	}
}
