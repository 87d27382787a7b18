// Tests of the findings: that each script says what a reader needs.

package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// versioned matches a header that says which release was seen.
var versioned = regexp.MustCompile(`(?s)\n# Seen:.*\d+\.\d+\.\d+.*\n# Matters:`)

// TestFindings checks that each finding is a script that states its guess, what was seen, and what to do, pins packages, and fails if
// behaviour has changed.
func TestFindings(t *testing.T) {
	names, err := filepath.Glob("../findings/*.sh")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("bash", "-n", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %s", name, out)
		}
		if !versioned.Match(text) {
			t.Errorf("%s: Seen names no release", name)
		}
		// A later release of a package below the named ones must not change what a script sees.
		for line := range strings.Lines(string(text)) {
			pip := strings.Contains(line, "pip -q install") && !strings.Contains(line, " -c pins ") && !strings.Contains(line, " --no-deps ")
			npm := strings.Contains(line, "npm install") && !strings.Contains(line, " --before=")
			module := strings.Contains(line, "go get ") && !strings.Contains(line, "@v")
			if pip || npm || module {
				t.Errorf("%s: packages below the named ones are not pinned: %s", name, line)
			}
		}
		for _, part := range []string{"\n# Guess:", "\n# Seen:", "\n# Matters:", "\n# Instead:", "\n# Source:", "\n# Needs:", "mktemp -d", "behaviour has changed"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s: no %q", name, part)
			}
		}
	}
}
