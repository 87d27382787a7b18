// Archives that follow one another in one stream.

package backup

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/trefoildb/trefoil/internal/store"
)

// TestStream: a chain in one file is restored to its end, and not only its first archive. What is no
// archive behind one is rejected.
func TestStream(t *testing.T) {
	full, first, second := makeChain(t)
	restore := func(stream ...[]byte) (Counts, error) {
		return Restore(t.Context(), filepath.Join(t.TempDir(), "restored"), archives(bytes.Join(stream, nil)), Options{})
	}
	// 1. One stream has the same as three.
	want, err := Restore(t.Context(), filepath.Join(t.TempDir(), "restored"), archives(full, first, second), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := restore(full, first, second); err != nil || got != want {
		t.Errorf("a chain in one stream: %+v, want %+v: %v", got, want, err)
	}
	// 2. The rest must be an archive, and the next of the chain.
	for name, rest := range map[string][]byte{"zeros": make([]byte, 512), "text": []byte("text"), "cut": first[:len(first)/2]} {
		if _, err := restore(full, rest); !errors.Is(err, store.ErrBackup) {
			t.Errorf("%s behind an archive: %v", name, err)
		}
	}
	for name, stream := range map[string][][]byte{"a gap": {full, second}, "twice": {full, full}, "another order": {first, full}} {
		if _, err := restore(slices.Clone(stream)...); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
