// A test that the console proposes the keywords of the parser.

package parser

import (
	"os"
	"strings"
	"testing"
)

// TestConsoleKeywords: the words of the console's list are the keywords, all of them and no other.
func TestConsoleKeywords(t *testing.T) {
	const name = "../../console/src/keywords.ts"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "`")
	list, _, _ = strings.Cut(list, "`")
	listed := map[string]bool{}
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == '|' || r == ' ' || r == '\n' }) {
		listed[word] = true
		if keywords[word] == "" {
			t.Errorf("%s: %s is no keyword", name, word)
		}
	}
	for word := range keywords {
		if !listed[word] {
			t.Errorf("%s lacks %s; add it and run make console", name, word)
		}
	}
}
