// Tests of language tags: those that are not well-formed, and their case.

package triple

import (
	"errors"
	"strings"
	"testing"
)

// TestCheckLanguage: text with a subtag of nine characters is rejected with its place. A row of a store
// with such a tag, which older releases took, is still decoded and is no damage.
func TestCheckLanguage(t *testing.T) {
	const why = `the language tag "zh-classical" is not well-formed, because "classical" has more than 8 characters`
	// W3C: ntriples-langdir-bad-4.
	for doc, want := range map[string]string{
		`<http://example/a> <http://example/b> "string"@cantbethislong--ltr .`: `1:47: the language tag "cantbethislong--ltr" is not well-formed, because "cantbethislong" has more than 8 characters`,
		`<a:s> <a:p> "a"@zh-classical .`:                                       "1:16: " + why,
		`<a:s> <a:p> <<( <a:s> <a:p> "a"@zh-classical )>> .`:                   "1:32: " + why,
	} {
		sc := NewScanner(strings.NewReader(doc), ScanOptions{})
		if sc.Scan() || sc.Err() == nil || !strings.Contains(sc.Err().Error(), want) {
			t.Errorf("%s: %v, want %s", doc, sc.Err(), want)
		}
	}
	if _, err := ParseTerm(`"a"@zh-classical`); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("a parameter: %v", err)
	}
	old := NewLang("a", "zh-classical")
	for _, term := range []Term{old, NewTripleTerm(NewIRI("a:s"), NewIRI("a:p"), old)} {
		again, err := DecodeTerm(AppendWholeTerm(nil, term))
		if err != nil || again != term || term.Check() != nil {
			t.Errorf("%s: %v, %v", term, err, term.Check())
		}
		if err := term.CheckLanguage(); !errors.Is(err, ErrBadTerm) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", term, err)
		}
	}
}

// TestTagsAreFolded: a tag has one form, however it is written. Only the language is folded, and only what is ASCII.
func TestTagsAreFolded(t *testing.T) {
	for written, want := range map[string]string{
		"en": "en", "EN": "en", "de-AT": "de-at", "zh-Hant-TW": "zh-hant-tw", "AR--rtl": "ar--rtl", "ar-EG--ltr": "ar-eg--ltr",
		"ar--RTL": "ar--RTL", "\u212A": "\u212A", "É": "É", "": "",
	} {
		if got := NewLang("a", written).LangDir(); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
	if err := NewLang("a", "ar--RTL").Check(); err == nil {
		t.Error("a direction in capital letters is accepted")
	}
}

// TestRowsOfEarlierReleases: a term with a tag as written is decoded as it is, as a token only if the text is a store's, and
// Fold returns the term that every parser makes.
func TestRowsOfEarlierReleases(t *testing.T) {
	s, p := NewIRI("a:s"), NewIRI("a:p")
	for _, tag := range []string{"EN", "de-AT", "AR-eg--rtl", "zh-Classical"} {
		old, folded := writtenLang("a\x00", tag), NewLang("a\x00", tag)
		for range 3 {
			for _, term := range []Term{old, folded} {
				got, err := DecodeTerm(AppendWholeTerm(nil, term))
				if err != nil || got != term || got.Fold() != folded || got.Check() != nil {
					t.Errorf("%s: %s, %v; folded %s, want %s", term, got, err, got.Fold(), folded)
				}
			}
			line := AppendNTriple(nil, Triple{Subject: s, Predicate: p, Object: old})
			sc := NewScanner(strings.NewReader(string(line)), ScanOptions{Stored: true})
			if !sc.Scan() || sc.Triple().Object != old {
				t.Errorf("%s: read as %s, %v", old, sc.Triple().Object, sc.Err())
			}
			sc = NewScanner(strings.NewReader(string(line)), ScanOptions{})
			if tag != "zh-Classical" && (!sc.Scan() || sc.Triple().Object != folded) {
				t.Errorf("%s: read as %s, %v", old, sc.Triple().Object, sc.Err())
			}
			old, folded = NewTripleTerm(s, p, old), NewTripleTerm(s, p, folded)
		}
	}
	for _, term := range []Term{{}, s, NewBlank("b"), NewString("A"), NewTyped("A", "a:B"), NewTripleTerm(s, p, NewString("A"))} {
		if term.Fold() != term {
			t.Errorf("%s folded is %s", term, term.Fold())
		}
	}
}
