// Package testbinary builds the trefoil for tests with processes.
package testbinary

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Variable is the environment variable with the absolute path of an existing trefoil.
// scripts/test.sh builds one for all suites.
const Variable = "TREFOIL_BINARY"

// Trefoil returns the path of the trefoil in [Variable]. If it is not set, it builds one from root,
// the repository's directory. remove deletes the built file, and must be called.
func Trefoil(root string) (path string, remove func(), err error) {
	if path := os.Getenv(Variable); path != "" {
		if !filepath.IsAbs(path) {
			return "", nil, fmt.Errorf("%s is %q, which is no absolute path", Variable, path)
		}
		if _, err := os.Stat(path); err != nil {
			return "", nil, fmt.Errorf("%s: %w", Variable, err)
		}
		return path, func() {}, nil
	}
	return Changed(root, nil)
}

// Edit replaces Old by New in the source file at a path below the repository's directory. Old must
// occur once.
type Edit struct{ Path, Old, New string }

// Changed builds a trefoil of another release from root, the repository's directory, with edits to
// its source. The source itself is not changed. remove deletes the built file, and must be called.
func Changed(root string, edits []Edit) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "trefoil-binary-")
	if err != nil {
		return "", nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	overlay, err := writeOverlay(root, dir, edits)
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "trefoil")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", path, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", nil, fmt.Errorf("build trefoil: %w\n%s", err, out)
	}
	return path, func() { os.RemoveAll(dir) }, nil
}

// writeOverlay writes the edited files to dir, and the overlay file of go build.
func writeOverlay(root, dir string, edits []Edit) (path string, err error) {
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	// 1. Apply the edits in memory. A file may have several.
	edited := map[string]string{} // by path of the source
	for _, e := range edits {
		source := filepath.Join(root, e.Path)
		if _, ok := edited[source]; !ok {
			text, err := os.ReadFile(source)
			if err != nil {
				return "", err
			}
			edited[source] = string(text)
		}
		if n := strings.Count(edited[source], e.Old); n != 1 {
			return "", fmt.Errorf("%s has %q %d times, want once", e.Path, e.Old, n)
		}
		edited[source] = strings.Replace(edited[source], e.Old, e.New, 1)
	}
	// 2. Write the files and the overlay.
	replace := map[string]string{}
	for source, text := range edited {
		replace[source] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[source], []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}
