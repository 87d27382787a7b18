// The file VERSION: its golden bytes, and flips of each bit.

package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const goldenUUID = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"

// The text of VERSION.
const goldenVersion = "trefoil data directory\nformat 1\nuuid " + goldenUUID + "\ncrc32c 1df71c07\n"

func TestVersionGolden(t *testing.T) {
	id, err := parseUUID(goldenUUID)
	if err != nil {
		t.Fatal(err)
	}
	if text := versionText(id); text != goldenVersion {
		t.Errorf("VERSION is %q, want %q", text, goldenVersion)
	}
	if got, hasChecksum, err := parseVersion(goldenVersion); got != id || !hasChecksum || err != nil {
		t.Errorf("%v %v %v", got, hasChecksum, err)
	}
}

// TestVersionFlips: if any bit of VERSION flips, the directory is rejected, and the file stays
// unchanged.
func TestVersionFlips(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	text := []byte(versionText(s.id))
	for bit := range 8 * len(text) {
		text[bit/8] ^= 1 << (bit % 8)
		if _, _, err := parseVersion(string(text)); !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrVersion) {
			t.Errorf("bit %d: %q is taken: %v", bit, text, err)
		}
		text[bit/8] ^= 1 << (bit % 8)
	}
	at := strings.Index(string(text), "uuid ") + len("uuid ")
	text[at] ^= 1 // another hexadecimal digit
	if err := WriteFile(fs, "data/VERSION", text); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("data", Options{FS: fs}); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a UUID with a flipped bit: %v", err)
	}
}

// TestVersionWithoutChecksum: a directory of an earlier release opens with its UUID. It gets the
// checksum unless it is opened read-only.
func TestVersionWithoutChecksum(t *testing.T) {
	fs := vfs.NewMem()
	s, err := Open("data", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	id := s.id
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(fs, "data/VERSION", fmt.Appendf(nil, versionFormat, formatVersion, id)); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		s, err := Open("data", Options{FS: fs, ReadOnly: readOnly})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got, hasChecksum, err := readVersion(fs, "data")
		if got != id || hasChecksum == readOnly || err != nil {
			t.Errorf("read only %v: UUID %v, want %v; checksum %v, %v", readOnly, got, id, hasChecksum, err)
		}
	}
}
