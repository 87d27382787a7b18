// Tests of language tags that are not well-formed.

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
