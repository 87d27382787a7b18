// Tests of names.

package ncname

import "testing"

func TestIs(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "_": true, "a1.-_": true, "é": true, "a·": true, "a.": true, "\uFFFD": true,
		"": false, "1a": false, "-a": false, ".a": false, "a:b": false, "a b": false, "·a": false, "a\xff": false, "×": false,
	} {
		if got := Is(s); got != want {
			t.Errorf("%q: got %v", s, got)
		}
	}
}
