// Tests of help, completions and the manual page.

package cli

import (
	"strings"
	"testing"
)

// TestAsked: the ways to ask for help and for the version, and what shells and man get.
func TestAsked(t *testing.T) {
	for _, test := range []struct {
		line string // as a shell passes it, empty if no shell asks
		args []string
		says []string
	}{
		{"", []string{"help"}, []string{"serve", "completion", "trefoil help COMMAND"}},
		{"", []string{"help", "links", "rank"}, []string{"Usage: trefoil links rank"}},
		{"", []string{"--version"}, []string{"trefoil ", "protocol "}},
		{"", []string{"man"}, []string{".TH TREFOIL 1", "serve", "link-copies", "Exit codes"}},
		{"", []string{"completion", "-c", "fish"}, []string{"complete"}},
		{"trefoil serve --link-c", nil, []string{"--link-copies\n"}},
		{"trefoil conf", nil, []string{"config\n"}},
	} {
		t.Setenv("COMP_LINE", test.line)
		var out strings.Builder
		if code := Run(t.Context(), test.args, strings.NewReader(""), &out, &out); code != exitDone {
			t.Errorf("%q, %q: code %d: %s", test.line, test.args, code, out.String())
		}
		for _, word := range test.says {
			if !strings.Contains(out.String(), word) {
				t.Errorf("%q, %q: no %q in\n%.2000s", test.line, test.args, word, out.String())
			}
		}
	}
}
