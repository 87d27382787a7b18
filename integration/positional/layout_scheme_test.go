// The UIDs of this policy and their widths.

package positional

import (
	"errors"
	"fmt"
	"math"
)

// ErrLayout says that a UID has too few bits for a cluster or its pages.
var ErrLayout = errors.New("the UIDs have too few bits")

// UID is the number of a page: a primary and a secondary partition, and the
// page's place in one of them. Unlike those of package uid, 0 may be one.
type UID uint64

// Layout is the widths of a UID's parts in bits, 64 together at most. The zero
// value means 8, 8 and 48.
type Layout struct {
	PrimaryBits, SecondaryBits, RelativeBits uint8
}

// widths returns the layout with the default in place of the zero value.
func (l Layout) widths() Layout {
	if l == (Layout{}) {
		return Layout{PrimaryBits: 8, SecondaryBits: 8, RelativeBits: 48}
	}
	return l
}

// Validate returns an error that wraps [ErrLayout] if the layout has more than
// 64 bits, or too few for the policy's partitions.
func (l Layout) Validate(p Policy) error {
	w := l.widths()
	if int(w.PrimaryBits)+int(w.SecondaryBits)+int(w.RelativeBits) > 64 {
		return fmt.Errorf("positional: widths of %d, %d and %d bits are more than 64: %w", w.PrimaryBits, w.SecondaryBits, w.RelativeBits, ErrLayout)
	}
	if uint64(p.Primaries()-1) > mask(w.PrimaryBits) || uint64(p.Secondaries()-1) > mask(w.SecondaryBits) {
		return fmt.Errorf("positional: %d primary partitions in %d bits, %d secondary ones in %d: %w",
			p.Primaries(), w.PrimaryBits, p.Secondaries(), w.SecondaryBits, ErrLayout)
	}
	return nil
}

// Make returns the UID with these parts. They must fit.
func (l Layout) Make(primary, secondary int, relative uint64) UID {
	w := l.widths()
	return UID((uint64(primary)<<w.SecondaryBits|uint64(secondary))<<w.RelativeBits | relative)
}

// Primary returns the primary partition of u.
func (l Layout) Primary(u UID) uint64 {
	w := l.widths()
	return uint64(u) >> w.RelativeBits >> w.SecondaryBits
}

// Secondary returns the secondary partition of u.
func (l Layout) Secondary(u UID) uint64 {
	w := l.widths()
	return uint64(u) >> w.RelativeBits & mask(w.SecondaryBits)
}

// Relative returns the place of u in its partition.
func (l Layout) Relative(u UID) uint64 { return uint64(u) & l.maxRelative() }

// maxRelative returns the greatest place in a partition.
func (l Layout) maxRelative() uint64 { return mask(l.widths().RelativeBits) }

// withRelative returns u at another place, which must fit.
func (l Layout) withRelative(u UID, relative uint64) UID {
	return u&^UID(l.maxRelative()) | UID(relative)
}

// mask returns the greatest number of so many bits.
func mask(bits uint8) uint64 {
	if bits >= 64 {
		return math.MaxUint64
	}
	return 1<<bits - 1
}
