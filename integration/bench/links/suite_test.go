// A test of the suite with one small graph.

package links

import (
	"flag"
	"io"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// TestSuite runs all parts for one store. The figures mean nothing at this size.
func TestSuite(t *testing.T) {
	binary, remove, err := testbinary.Trefoil(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	flags := flag.NewFlagSet(t.Name(), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	measure := Suite(flags)
	if err := flags.Parse([]string{"-dir", t.TempDir(), "-trefoil", binary, "-pages", "500", "-hosts", "30", "-nodes", "0", "-updates=false"}); err != nil {
		t.Fatal(err)
	}
	if err := measure(t.Context(), flags.Args()); err != nil {
		t.Error(err)
	}
}
