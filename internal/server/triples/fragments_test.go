// Terms of fragments.

package triples

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/triple"
)

// FuzzFragmentTerm: every term can be asked for, as clients write it, and no text
// makes trouble.
func FuzzFragmentTerm(f *testing.F) {
	f.Add("plain", "", "")
	f.Add(`it "says" \ so`, "en-GB", "")
	f.Add("1\n", "", "http://www.w3.org/2001/XMLSchema#integer")
	f.Add(`"@en`, "", "")
	f.Fuzz(func(t *testing.T, lexical, tag, datatype string) {
		page := &fragment{genid: "http://h" + genidPath}
		_, _ = page.term("object", lexical)
		if strings.ContainsAny(tag+datatype, `"<`) {
			return // a quote would end the text of another literal; brackets are taken off
		}
		var want triple.Term
		text := `"` + lexical + `"`
		switch {
		case tag != "":
			want, text = triple.NewLang(lexical, tag), text+"@"+tag
		case datatype != "":
			want, text = triple.NewTyped(lexical, datatype), text+"^^"+datatype
		default:
			want = triple.NewString(lexical)
		}
		got, err := page.term("object", text)
		if valid := want.Check() == nil; valid != (err == nil) {
			t.Fatalf("%s: %v; the term itself: %v", text, err, want.Check())
		}
		if err == nil && got != want {
			t.Errorf("%s is read as %v, not %v", text, got, want)
		}
	})
}
