// Lineage: the history of a view, and the views it descends from.

package view

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// digestBytes is the size of a digest in [View.History], maxHistory how many it holds.
const (
	digestBytes = 8
	maxHistory  = 512
)

// Digest returns a hash of the view with its history, never 0. If two views of the same epoch
// differ, or descend from different ones, their digests differ. It is the hash of the agreed
// JSON, because all releases must return the same one.
func (v *View) Digest() uint64 { return v.digest() }

func (v *View) hash() uint64 {
	b, err := json.Marshal(v)
	if err != nil {
		return 1 // of a view that cannot be proposed either
	}
	return max(xxhash.Sum64(b), 1)
}

// Descends reports whether a machine's adopted view, in this view's lineage, is this view or one
// before it. It is also false if this is not known: the history goes back for 512 epochs, and no
// further than the generation. A digest of 0 means no view.
func (v *View) Descends(generation, epoch, digest uint64) bool {
	if generation != v.Generation || digest == 0 || epoch > v.Epoch {
		return false
	}
	if epoch == v.Epoch {
		return digest == v.Digest()
	}
	back := v.Epoch - epoch
	known := uint64(len(v.History) / digestBytes)
	if back > known {
		return false
	}
	return binary.BigEndian.Uint64(v.History[(known-back)*digestBytes:]) == digest
}

// extendHistory makes the history that of the view after v.
func (v *View) extendHistory() []byte {
	h := v.History
	if over := len(h) - (maxHistory-1)*digestBytes; over > 0 {
		h = h[over:]
	}
	return binary.BigEndian.AppendUint64(slices.Clone(h), v.Digest())
}

// lineageSeparator stands between the names of a lineage.
const lineageSeparator = "/"

// IsAncestor reports whether the generation of lineage later began, by any number of recoveries, in
// lineage.
func IsAncestor(lineage, later string) bool {
	return strings.HasPrefix(later, lineage+lineageSeparator)
}
