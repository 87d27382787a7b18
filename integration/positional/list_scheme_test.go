// The coding of a list of links by differences.

package positional

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrCorrupt is what the errors of a list's decoder wrap.
var ErrCorrupt = errors.New("damaged list of links")

// Differences returns a list of links as differences: the first target less
// the source, then each target less the one before (US 7,340,467). They are
// numbers modulo 2^64; those of ascending targets are all positive but for the
// first, which may be anything.
func Differences(source UID, targets []UID) []int64 {
	differences := make([]int64, 0, len(targets))
	previous := source
	for _, target := range targets {
		differences = append(differences, int64(target-previous))
		previous = target
	}
	return differences
}

// AppendList appends the coding of a list of links, which must be strictly
// ascending, to dst and returns the result. The package comment draws the
// format.
func AppendList(dst []byte, source UID, targets []UID) []byte {
	for i, difference := range Differences(source, targets) {
		if i == 0 {
			dst = binary.AppendVarint(dst, difference)
		} else {
			dst = binary.AppendUvarint(dst, uint64(difference))
		}
	}
	return dst
}

// DecodeList appends the targets of the list that all of b is the coding of, to
// dst and returns the result: one target for each byte of b at most. The error
// wraps [ErrCorrupt]; dst is returned as it was then.
func DecodeList(dst []UID, source UID, b []byte) ([]UID, error) {
	if len(b) == 0 {
		return dst, nil
	}
	size := len(b)
	first, n := binary.Varint(b)
	if n <= 0 {
		return dst, fmt.Errorf("positional: links of %d: byte 0 of %d: %w", source, size, ErrCorrupt)
	}
	target := source + UID(first)
	targets := append(dst, target)
	for b = b[n:]; len(b) > 0; b = b[n:] {
		var gap uint64
		gap, n = binary.Uvarint(b)
		if n <= 0 || gap == 0 || target+UID(gap) < target {
			return dst, fmt.Errorf("positional: links of %d: byte %d of %d: %w", source, size-len(b), size, ErrCorrupt)
		}
		target += UID(gap)
		targets = append(targets, target)
	}
	return targets, nil
}
