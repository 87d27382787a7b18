// A golden file that is as it should be, one that is not, and one that is rewritten.

package goldenfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failures is a test whose failures are kept.
type failures struct {
	*testing.T
	text string
}

func (f *failures) Errorf(format string, args ...any) { f.text += fmt.Sprintf(format, args...) }

func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "testdata", "a.txt")
	for _, c := range []struct {
		rewrite      bool
		got, failure string
	}{
		{true, "a\nb\nc\n", ""},
		{false, "a\nb\nc\n", ""},
		{false, "a\nB\nc\n", `Line 2 was "b" and is "B"`},
		{false, "a\nb\n", `Line 3 was "c" and is ""`},
		{false, "a\nb\nc\nd", `Line 4 was "" and is "d"`},
		{true, "other", ""},
		{false, "other", ""},
	} {
		*rewrite = c.rewrite
		f := &failures{T: t}
		Check(f, path, c.got)
		if !strings.Contains(f.text, c.failure) || (f.text == "") != (c.failure == "") {
			t.Errorf("%+v: %q", c, f.text)
		}
		if data, err := os.ReadFile(path); err != nil || c.rewrite && string(data) != c.got {
			t.Errorf("%+v: the file is %q, %v", c, data, err)
		}
	}
	*rewrite = false
}
