// Clients in Python: SPARQLWrapper, SPARQLStore of rdflib, and our own package.

package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// python is Debian's, which has the packages that Debian has.
const python = "/usr/bin/python3"

func TestSPARQLWrapperAndSPARQLStore(t *testing.T) {
	if err := exec.Command(python, "-c", "import rdflib, SPARQLWrapper").Run(); err != nil {
		absent(t, "no python3-rdflib or no python3-sparqlwrapper")
	}
	address, _ := serve(t, server.Options{}, nil)
	converse(t, python, filepath.Join("testdata", "sparqlwrapper.py"), address)
}

// TestPythonPackage runs what checks the package in python: its linter, its types, its tests, which start
// servers of their own, and that its client with blocking calls is made from the other one.
func TestPythonPackage(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	bin := filepath.Join(root, "python", ".venv", "bin")
	if _, err := os.Stat(filepath.Join(bin, "pytest")); err != nil {
		absent(t, "no python/.venv")
	}
	binary, remove, err := testbinary.Trefoil(root)
	require.NoError(t, err)
	t.Cleanup(remove)
	for _, command := range [][]string{{"ruff", "check"}, {"ruff", "format", "--check"}, {"mypy"}, {"pytest", "--durations=5"}} {
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
		run := exec.CommandContext(ctx, filepath.Join(bin, command[0]), command[1:]...)
		run.Dir = filepath.Join(root, "python")
		run.Env = append(os.Environ(), testbinary.Variable+"="+binary)
		out, err := run.CombinedOutput()
		cancel()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		t.Logf("%s\n%s", command, out)
	}
}
