// Tests of punycode and of names as browsers read them.

package weburl

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// TestPunycodeLikeIDNA compares labels in ASCII form with those of package
// idna without its mapping.
func TestPunycodeLikeIDNA(t *testing.T) {
	r := random(t)
	alphabets := []string{"abc-1", "\u00fc\u00e4\u00df\u00ea", "\u03b1\u03b2\u03c2", "\u0436\u0437", "\u4f8b\u3048\u30c6\u30b9\u30c8", "\u0928\u092e\u0938\u094d\u0924\u0947", "\U0001f600\U0010ffff", "\u05d0\u05d1"}
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(14) {
			alphabet := []rune(alphabets[r.IntN(len(alphabets))])
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		label := b.String()
		want, err := idna.Punycode.ToASCII(label)
		if err != nil {
			continue
		}
		if got := string(appendASCIILabel(nil, []byte(label))); got != want {
			t.Fatalf("%q: %q, want %q", label, got, want)
		}
	}
}

// TestNamesLikeBrowsers compares the keys of real names, as people write them, with the lookup
// profile of UTS 46.
func TestNamesLikeBrowsers(t *testing.T) {
	for _, name := range []string{
		"b\u00fccher.de", "B\u00dcCHER.de", "fa\u00df.de", "ni\u00f1o.es", "NI\u00d1O.es", "\u4f8b\u3048.jp",
		"\u043f\u0440\u0435\u0437\u0438\u0434\u0435\u043d\u0442.\u0440\u0444", "\u041f\u0420\u0415\u0417\u0418\u0414\u0415\u041d\u0422.\u0420\u0424",
		"\u03b2\u03cc\u03bb\u03bf\u03c2.gr", "\u0141\u00d3D\u0179.pl", "\u0160koda.cz", "\u00c5ngstr\u00f6m.se", "t\u00fcrk\u00e7e.com.tr",
		"\ud55c\uad6d.kr", "\u0e44\u0e17\u0e22.th", "\u05d9\u05e9\u05e8\u05d0\u05dc.il",
	} {
		ascii, err := idna.Lookup.ToASCII(name)
		if err != nil {
			t.Fatal(err)
		}
		if unicode, ascii := HostKey("http://"+name+"/"), HostKey("http://"+ascii+"/"); unicode != ascii {
			t.Errorf("%s: %s, in ASCII form %s", name, unicode, ascii)
		}
	}
}

func TestLower(t *testing.T) {
	changed := 0
	for r := range rune(unicode.MaxRune) {
		got := lower(r)
		if got != r {
			changed++
			if got != unicode.ToLower(r) {
				t.Errorf("lower(%U) = %U, want %U", r, got, unicode.ToLower(r))
			}
		}
		latin := r < 0x180 && r != 0x130 // its lower-case form is two characters
		greek := r >= 0x386 && r <= 0x3ab
		cyrillic := r >= 0x400 && r <= 0x45f
		if want := unicode.ToLower(r); (latin || greek || cyrillic) && got != want {
			t.Errorf("lower(%U) = %U, want %U", r, got, want)
		}
	}
	if changed != 199 {
		t.Errorf("%d letters have a lower case", changed)
	}
}

func TestLongLabels(t *testing.T) {
	for _, n := range []int{maxLabel - 1, maxLabel, maxLabel + 1} {
		label := "\u00fc" + strings.Repeat("a", n-2)
		key := HostKey("http://" + label + "/")
		if encoded := strings.HasPrefix(key, "xn--"); encoded != (n <= maxLabel) || !utf8.ValidString(key) {
			t.Errorf("a label of %d bytes: %.20q", n, key)
		}
	}
	// The worst case of 255 bytes: the greatest characters, all different.
	var b strings.Builder
	for i := range rune(63) {
		b.WriteRune(unicode.MaxRune - i)
	}
	want, err := idna.Punycode.ToASCII(b.String())
	if got := string(appendASCIILabel(nil, []byte(b.String()))); err == nil && got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
