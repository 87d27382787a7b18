// Texts with equal trees after printing.

package parser

import (
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/sparql/ast"
)

// checkRoundTrip prints a tree, parses the text, and compares the trees, except positions, and
// their texts.
func checkRoundTrip[T interface{ String() string }](t *testing.T, tree T, parse func(string, Options) (T, error)) {
	t.Helper()
	text := tree.String()
	again, err := parse(text, Options{MaxBytes: 1 << 30, MaxTokens: 1 << 30, MaxDepth: 1 << 20, MaxNodes: 1 << 30})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if other := again.String(); other != text {
		t.Fatalf("prints as\n%s\nand then as\n%s", text, other)
	}
	if !ast.Equal(tree, again) {
		t.Fatalf("another tree comes back from\n%s", text)
	}
}

// printed returns the printed form of a query or, if it is none, of an update.
func printed(t *testing.T, text string) string {
	t.Helper()
	opts := Options{Base: "http://b.example/dir/doc"}
	q, err := ParseQuery(text, opts)
	if err == nil {
		out := q.String()
		checkRoundTrip(t, q, ParseQuery)
		return out
	}
	u, updateErr := ParseUpdate(text, opts)
	if updateErr != nil {
		t.Fatalf("neither a query (%v) nor an update (%v):\n%s", err, updateErr, text)
	}
	out := u.String()
	checkRoundTrip(t, u, ParseUpdate)
	return strings.TrimSpace(out)
}
