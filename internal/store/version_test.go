// Opening a directory with a damaged or an old file VERSION.

package store

import (
	"errors"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/trefoildb/trefoil/internal/store/directory"
)

// TestVersionFlip: if a bit of the UUID flips, the directory is rejected.
func TestVersionFlip(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := readFile(t, fs, "data/VERSION")
	at := strings.Index(string(text), "uuid ") + len("uuid ")
	text[at] ^= 1 // another hexadecimal digit
	if err := directory.WriteFile(fs, "data/VERSION", text); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a UUID with a flipped bit: %v", err)
	}
}
