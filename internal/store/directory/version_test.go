// The file VERSION: its golden bytes, and flips of each bit.

package directory

import (
	"errors"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/store/fault"
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
	if got, err := parseVersion(goldenVersion); got != id || err != nil {
		t.Errorf("%v %v", got, err)
	}
	without, _, _ := strings.Cut(goldenVersion, "crc32c")
	if _, err := parseVersion(without); !errors.Is(err, fault.ErrCorrupt) {
		t.Errorf("without its checksum: %v", err)
	}
}

// TestVersionFlips: if any bit of VERSION flips, the text is rejected. If its checksum can still be found,
// it is corrupt, and not of another format.
func TestVersionFlips(t *testing.T) {
	text := []byte(versionText(NewUUID()))
	checksum := strings.LastIndex(string(text), "crc32c ")
	for bit := range 8 * len(text) {
		text[bit/8] ^= 1 << (bit % 8)
		_, err := parseVersion(string(text))
		if found := bit/8 < checksum; !errors.Is(err, fault.ErrCorrupt) && (found || !errors.Is(err, fault.ErrVersion)) {
			t.Errorf("bit %d: %q is taken: %v", bit, text, err)
		}
		text[bit/8] ^= 1 << (bit % 8)
	}
}
