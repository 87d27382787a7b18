// The place of an error in a text.

package query

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPointAt(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, test := range []struct {
		text         string
		line, column int
		want         string
	}{
		{"abc", 1, 2, "abc\n   ^"},
		{"abc\rdef", 2, 4, "def\n     ^"},
		{"", 1, 1, "\n  ^"},
		{"a\tb\x1b[2Jc", 1, 3, "a b [2Jc\n    ^"},
		{"世x", 1, 2, "世x\n    ^"},
		{long, 1, 101, strings.Repeat("x", 100) + "\n  " + strings.Repeat(" ", 50) + "^"},
		{"abc", 1, 99, "abc\n     ^"},
		{"abc", 2, 1, ""},
		{"abc", 0, 0, ""},
	} {
		if got := pointAt(test.text, test.line, test.column); got != test.want {
			t.Errorf("%q %d:%d: %q, want %q", test.text, test.line, test.column, got, test.want)
		}
	}
}
