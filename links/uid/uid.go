// The UID: its parts, its text and its extent.

package uid

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// The widths of a UID's parts, in bits; 64 in all.
const (
	SlotBits = 14
	HostBits = 22
	PageBits = 28
)

const (
	// NumSlots is the number of slots.
	NumSlots = 1 << SlotBits
	// MaxHost is the largest host number of a slot. The smallest is 1.
	MaxHost = 1<<HostBits - 1
	// ExtentPages is the number of pages of an extent.
	ExtentPages = 1 << PageBits
)

// ErrSyntax is wrapped by the errors of [Parse].
var ErrSyntax = errors.New("not a UID")

// UID is the number of a page. 0 is no UID.
type UID uint64

// Slot is the number of a slot, below [NumSlots].
type Slot uint16

// Make returns the UID of a page of a host in a slot. It returns 0, which is no UID, if a part is
// too large or the host is 0.
func Make(slot Slot, host, page uint32) UID {
	if slot >= NumSlots || host == 0 || host > MaxHost || page >= ExtentPages {
		return 0
	}
	return UID(slot)<<(HostBits+PageBits) | UID(host)<<PageBits | UID(page)
}

// Slot returns the slot of the page.
func (u UID) Slot() Slot { return Slot(u >> (HostBits + PageBits)) }

// Host returns the host number, in its slot, of the page's extent.
func (u UID) Host() uint32 { return uint32(u>>PageBits) & MaxHost }

// Page returns the page's number in its extent.
func (u UID) Page() uint32 { return uint32(u) & (ExtentPages - 1) }

// Extent returns the extent of the page.
func (u UID) Extent() Extent { return Extent(u >> PageBits) }

// Valid reports whether u can be the UID of a page: its host must not be 0.
func (u UID) Valid() bool { return u.Host() != 0 }

// String returns u in decimal.
func (u UID) String() string { return strconv.FormatUint(uint64(u), 10) }

// Parse returns the UID in text. The text must have the form of String: decimal digits, the first
// of them not 0. Errors wrap [ErrSyntax].
func Parse(text string) (UID, error) {
	// A message shows only the start of text, because text may have any length.
	const maxShown = 40
	fail := func(why string) (UID, error) {
		if len(text) > maxShown {
			text = text[:maxShown] + "..."
		}
		return 0, fmt.Errorf("uid: parse %q: %w: %s", text, ErrSyntax, why)
	}
	// 1. Accept only the form of String, because each UID must have one text.
	if text == "" {
		return fail("it is empty")
	}
	if text[0] == '0' {
		return fail("it is 0 or has a leading 0")
	}
	u := uint64(0)
	for i := range len(text) {
		digit := uint64(text[i] - '0')
		if digit > 9 {
			return fail(fmt.Sprintf("byte %d is no decimal digit", i))
		}
		// 2. Reject an overflow before it happens.
		if u > math.MaxUint64/10 || u*10 > math.MaxUint64-digit {
			return fail("it is greater than 2^64 - 1")
		}
		u = u*10 + digit
	}
	// 3. A host number of 0 never occurs in a UID.
	if !UID(u).Valid() {
		return fail("its host number is 0")
	}
	return UID(u), nil
}

// SlotOf returns the slot of the host with this key (see package weburl): the upper 14 bits of
// the key's xxhash64. It must never change, because stored UIDs contain it.
func SlotOf(hostKey string) Slot {
	return Slot(xxhash.Sum64String(hostKey) >> (64 - SlotBits))
}

// Extent is one host number of one slot: the upper 36 bits of the UIDs of its 2^28 pages, as a
// number below 2^36. 0 is no extent.
type Extent uint64

// MakeExtent returns the extent of a host number of a slot. It returns 0 if there is no such host
// number or slot.
func MakeExtent(slot Slot, host uint32) Extent { return Make(slot, host, 0).Extent() }

// Slot returns the slot of the extent.
func (e Extent) Slot() Slot { return Slot(e >> HostBits) }

// Host returns the extent's host number in its slot.
func (e Extent) Host() uint32 { return uint32(e) & MaxHost }

// Range returns the UIDs of the extent.
func (e Extent) Range() Range {
	first := UID(e) << PageBits
	return Range{First: first, Last: first | (ExtentPages - 1)}
}
