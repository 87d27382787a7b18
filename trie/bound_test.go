// Tests of separators and midpoints.

package trie

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const end = "end" // of the space, in tables: a nil key

func keyOf(s string) []byte {
	if s == end {
		return nil
	}
	return []byte(s)
}

func TestSeparator(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"abc", "abd", "abd"},
		{"abc", "axyz", "ax"},
		{"ab", "abcde", "abc"},
		{"", "abc", "a"},
		{"", "\x00", "\x00"},
		{"a\xff\xff", "b", "b"},
		{"http://a/1", "http://a/2/x", "http://a/2"},
		{"", end, "\x00"},
		{"abc", end, "b"},
		{"\xff\xffa", end, "\xff\xffb"},
		{"\xff\xff", end, "\xff\xff\x00"},
		{"a", "a", ""},
		{"b", "a", ""},
		{"ab", "a", ""},
		{"", "", ""},
	} {
		got := Separator(keyOf(c.a), keyOf(c.b))
		if string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("Separator(%q, %q) = %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestMidpoint(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", end, "\x80"},
		{"a", "c", "b"},
		{"a", "b", "a\x80"},
		{"x/a", "x/c\x00\x00", "x/b"},
		{"x/", "x/\x40", "x/\x20"},
		{"\x00", "\x01\x00", "\x00\x80"},
		{"a\xff", "b", "a\xff\x80"},
		{"\x80", end, "\xc0"},
		{"\xff\xff", end, "\xff\xff\x80"},
		{"\xff\xff\x80", end, "\xff\xff\xc0"},
		{"a", "a\x00", "a\x00"},                                 // nothing lies between
		{"a", "a\x00\x00\x00\x00\x00\x00\x00\x00\x01", "a\x00"}, // closer than eight bytes tell
		{"a\x00\x00\x00\x00\x00\x00\x00\x01", "a\x00\x00\x00\x00\x00\x00\x00\x03", "a\x00\x00\x00\x00\x00\x00\x00\x02"},
		{strings.Repeat("\xff", 20), end, strings.Repeat("\xff", 20) + "\x80"},
		{"a", "a", ""},
		{"b", "a", ""},
		{"ab", "a", ""},
	} {
		got := Midpoint(keyOf(c.a), keyOf(c.b))
		if string(got) != c.want || (got == nil) != (c.want == "") {
			t.Errorf("Midpoint(%q, %q) = %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

// anyBounds draws a < b, or a and the end of the space.
func anyBounds(t *rapid.T) (a, b []byte) {
	key := rapid.OneOf(rapid.Custom(func(t *rapid.T) []byte { return anyKey(t, "key") }), rapid.SliceOfN(rapid.Byte(), 0, 20))
	a, b = key.Draw(t, "a"), key.Draw(t, "b")
	switch bytes.Compare(a, b) {
	case 0:
		return a, nil
	case 1:
		return b, a
	}
	return a, b
}

func between(a, m, b []byte) bool {
	return bytes.Compare(a, m) < 0 && (b == nil || bytes.Compare(m, b) <= 0)
}

func TestBoundsLieBetween(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyBounds(t)
		a, b = bytes.Clone(a), bytes.Clone(b)
		copyA, copyB := bytes.Clone(a), bytes.Clone(b)
		s, m := Separator(a, b), Midpoint(a, b)
		if !between(a, s, b) {
			t.Fatalf("Separator(%q, %q) = %q", a, b, s)
		}
		if !between(a, m, b) {
			t.Fatalf("Midpoint(%q, %q) = %q", a, b, m)
		}
		// s must be the shortest: if a key is a byte shorter, it is either not below b or not
		// above a.
		shorter := bytes.Clone(a[:len(s)-1])
		for i := len(shorter) - 1; i >= 0; i-- {
			if shorter[i]++; shorter[i] != 0 {
				break
			}
		}
		if between(a, shorter, b) {
			t.Fatalf("Separator(%q, %q) = %q, but %q is shorter", a, b, s, shorter)
		}
		// The results are copies.
		for _, r := range [][]byte{s, m} {
			for i := range r {
				r[i]++
			}
		}
		if !bytes.Equal(a, copyA) || !bytes.Equal(b, copyB) {
			t.Fatal("a result is a part of an argument")
		}
	})
}

// TestMidpointHalves: bisecting a range by midpoints ends soon, on either side.
func TestMidpointHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyBounds(t)
		x, y := number(a), number(b)
		if b == nil {
			y = 1
		}
		m := number(Midpoint(a, b))
		if distance := y - x; distance > 1e-12 && (m-x < distance/4 || y-m < distance/4) {
			t.Fatalf("Midpoint(%q, %q) is at %v of [%v, %v]", a, b, m, x, y)
		}
	})
}

// number is a key as a fraction in base 256.
func number(key []byte) float64 {
	f, unit := 0.0, 1.0
	for _, c := range key {
		unit /= 256
		f += float64(c) * unit
	}
	return f
}
