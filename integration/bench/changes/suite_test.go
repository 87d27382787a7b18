// A test of the suite with few changes.

package changes

import (
	"flag"
	"io"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/testbinary"
)

// TestSuite runs all parts. The figures mean nothing at this size.
func TestSuite(t *testing.T) {
	binary, remove, err := testbinary.Trefoil(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	flags := flag.NewFlagSet(t.Name(), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	measure := Suite(flags)
	if err := flags.Parse([]string{"-dir", t.TempDir(), "-trefoil", binary, "-triples", "4000", "-consumers", "5", "-latency-adds", "20", "-nodes", "0"}); err != nil {
		t.Fatal(err)
	}
	if err := measure(t.Context(), flags.Args()); err != nil {
		t.Error(err)
	}
}
