// What a load that failed leaves.

package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/trefoildb/trefoil/rdfload"
)

// TestEndOfLoad checks which errors of a load leave a new store: those after which data are in it, or with
// which the load can be resumed.
func TestEndOfLoad(t *testing.T) {
	for _, test := range []struct {
		err    error
		stays  bool
		reason string
	}{
		{nil, true, "a load without an error"},
		{io.ErrUnexpectedEOF, false, "nothing is stored"},
		{withHint(io.ErrUnexpectedEOF, "a hint"), false, "nothing is stored"},
		{fmt.Errorf("%w; %w", io.ErrUnexpectedEOF, rdfload.ErrKept), true, "it can be resumed"},
		{fmt.Errorf("load: %w", kept(io.ErrUnexpectedEOF, "the links are stored")), true, "links are stored"},
	} {
		c := &loadCmd{}
		c.Data = filepath.Join(t.TempDir(), "new")
		_, end, err := c.openStore()
		if err != nil {
			t.Fatal(err)
		}
		if err := end(test.err); !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.reason, err)
		}
		if _, err := os.Stat(c.Data); (err == nil) != test.stays {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}
