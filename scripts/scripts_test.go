// Tests of the scripts: what a run of them seldom shows.

// Package scripts tests the scripts of this folder.
package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestInstallation checks that documents install what is there. On PyPI, trefoil is a project of somebody else, and without
// a tag of a release @latest is none of ours.
func TestInstallation(t *testing.T) {
	for name, text := range files(t, ".md", "clients.sh") {
		if found := regexp.MustCompile(`pip install\s+'?trefoil\b.*|trefoil@latest`).FindString(text); found != "" {
			t.Errorf("%s: %s", name, found)
		}
	}
	project, err := os.ReadFile("../python/pyproject.toml")
	if err != nil || !regexp.MustCompile(`(?m)^name = "trefoildb"`).Match(project) {
		t.Errorf("the name of the distribution: %v", err)
	}
}

// TestLogsExist checks that a script makes the log of a process before it starts it in the background. The file is
// made by the process's own shell otherwise, and a loop that reads it ends the script if it comes first.
func TestLogsExist(t *testing.T) {
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	started := regexp.MustCompile(`2>+("?[^"&\s]+"?) &$`)
	found := 0
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		before := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if log := started.FindStringSubmatch(line); log != nil {
				found++
				if !strings.Contains(before, ": >"+log[1]) || !strings.Contains(line, "2>>"+log[1]) {
					t.Errorf("%s: make %s before, and append to it: %s", name, log[1], line)
				}
			}
			before += line + "\n"
		}
	}
	if found == 0 {
		t.Error("no script starts a process in the background")
	}
}
