// Tests of the classes of bytes.

package triple

import (
	"strings"
	"testing"
)

// TestIRICharacters: the table must agree with IRIREF.
func TestIRICharacters(t *testing.T) {
	for c := range byte(0x80) {
		want := c > 0x20 && !strings.ContainsRune("<>\"{}|^`\\", rune(c))
		if got := asciiClass[c]&classIRI != 0; got != want || IsIRIByte(c) != want {
			t.Errorf("0x%02X: %v, want %v", c, got, want)
		}
	}
}

func TestCheckIRI(t *testing.T) {
	for _, iri := range []string{"a:", "http://ex/", "urn:x:é", "A+-.1:x", "x:\x7F", "http://ex/\uFFFD", "a:" + strings.Repeat("é", 100)} {
		if err := CheckIRI(iri); err != nil {
			t.Errorf("%q: %v", iri, err)
		}
	}
	for iri, want := range map[string]string{
		"": "empty", "a": "relative", ":a": "relative", "1:a": "relative", "é:a": "relative", "/a:b": "relative", "a b:c": "relative", "a:b c": "character ' '", "a:<": "character '<'",
		"a:\x00": `character '\x00'`, "a:\xFF": "UTF-8 (byte 0xFF)", "a:\xED\xA0\x80": "UTF-8 (byte 0xED)", "a:`": "character '`'", `a:\u0041`: `character '\\'`,
	} {
		if err := CheckIRI(iri); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", iri, err, want)
		}
	}
}

func TestBlankLabels(t *testing.T) {
	for _, label := range []string{"a", "0", "_", "a.b", "a..b", "a-", "a·", "é", "日本", "😀", "a\u0300", "a\u203F", strings.Repeat("x", 2000)} {
		if n := scanBlankLabel(label); n != len(label) {
			t.Errorf("%q: %d of %d bytes", label, n, len(label))
		}
	}
	for label, want := range map[string]int{"": 0, ":": 0, "a:b": 1, "-a": 0, ".a": 0, "·a": 0, "\u0300a": 0, "a.": 1, "a b": 1, "a\xFF": 1, "a×b": 1, "a\u037Eb": 1, "a\uFFFEb": 1, "a\U000F0000b": 1, "a<": 1, "a/b": 1} {
		if n := scanBlankLabel(label); n != want {
			t.Errorf("%q: %d, want %d", label, n, want)
		}
	}
}
