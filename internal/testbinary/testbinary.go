// Package testbinary builds the trefoil that tests run as processes.
package testbinary

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Variable names the environment variable with the absolute path of a trefoil that is
// built already: scripts/test.sh builds one for all suites.
const Variable = "TREFOIL_BINARY"

// Trefoil returns the path of the trefoil of [Variable], or builds one from root, the
// repository's directory. remove deletes what was built.
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
	dir, err := os.MkdirTemp("", "trefoil-binary-")
	if err != nil {
		return "", nil, err
	}
	path = filepath.Join(dir, "trefoil")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", nil, fmt.Errorf("build trefoil: %w\n%s", err, out)
	}
	return path, func() { os.RemoveAll(dir) }, nil
}
