// The distance of two names.

package serve

import "testing"

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		if got, back := distance(test.a, test.b), distance(test.b, test.a); got != test.want || back != test.want {
			t.Errorf("%s and %s: %d, %d", test.a, test.b, got, back)
		}
	}
}
