// Package goldenfile compares what the code gives with files of testdata. With -rewrite a test writes
// its files instead, and git diff shows what has changed.
package goldenfile

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write what the code gives into the golden files")

// Rewrite writes the file at path, with -rewrite only. The test must read the file itself.
func Rewrite(t testing.TB, path, got string) {
	t.Helper()
	if !*rewrite {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Check fails the test if the file at path is not got. With -rewrite it writes the file.
func Check(t testing.TB, path, got string) {
	t.Helper()
	Rewrite(t, path, got)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := string(data)
	if got == want {
		return
	}
	// 1. Name the first line that differs, because a dump is long.
	line := 1
	for i := 0; i < min(len(got), len(want)) && got[i] == want[i]; i++ {
		if got[i] == '\n' {
			line++
		}
	}
	of := func(s string) string {
		if lines := strings.Split(s, "\n"); line <= len(lines) {
			return lines[line-1]
		}
		return ""
	}
	t.Errorf("%s has changed; -rewrite writes it, and git diff shows how. Line %d was %.200q and is %.200q. All of it:\n%s", path, line, of(want), of(got), got)
}
