// Opening a directory with a damaged or an old file VERSION.

package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// TestVersionFlip: if a bit of the UUID flips, the directory is rejected.
func TestVersionFlip(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	text := readFile(t, fs, "data/VERSION")
	at := strings.Index(string(text), "uuid ") + len("uuid ")
	text[at] ^= 1 // another hexadecimal digit
	require.NoError(t, directory.WriteFile(fs, "data/VERSION", text))
	if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a UUID with a flipped bit: %v", err)
	}
}
