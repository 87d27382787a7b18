// What a load that failed leaves.

package load

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/cli/console"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/rdfload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
		{console.WithHint(io.ErrUnexpectedEOF, "a hint"), false, "nothing is stored"},
		{fmt.Errorf("%w; %w", io.ErrUnexpectedEOF, rdfload.ErrKept), true, "it can be resumed"},
		{fmt.Errorf("load: %w", partStored(io.ErrUnexpectedEOF, "the links are stored")), true, "links are stored"},
	} {
		c := &Cmd{}
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

// Without --to and --data the documented address is meant.
func TestLoadNowhere(t *testing.T) {
	c := &Cmd{}
	c.Files, c.LinkPredicate = []string{"x.nt"}, links.DefaultPredicate
	if err := c.check(false); err != nil {
		t.Errorf("load without --to: %v", err)
	}
}
