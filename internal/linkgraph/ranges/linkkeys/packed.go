// Packed lists: ascending UIDs as differences.

package linkkeys

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/links/uid"
)

const (
	// MaxPacked is the greatest number of links of a list that is kept packed, if the options
	// of the graph set no other limit. A longer list is long.
	MaxPacked = 1 << 14
	// PackedBytes bounds the lists of an answer. The first list may exceed it.
	PackedBytes = 16 << 20
)

// A packed list is its first UID and then the differences, each as a uvarint.

// AppendPacked appends a packed list. The UIDs must ascend, without duplicates.
func AppendPacked(dst []byte, list []uid.UID) []byte {
	before := uid.UID(0)
	for _, u := range list {
		dst = binary.AppendUvarint(dst, uint64(u-before))
		before = u
	}
	return dst
}

// Unpack appends the UIDs of a packed list. It returns peer.ErrMessage if they do not ascend.
func Unpack(dst []uid.UID, packed []byte) ([]uid.UID, error) {
	last := uid.UID(0)
	for len(packed) > 0 {
		step, n := uint64(packed[0]), 1
		if step >= 0x80 {
			step, n = uvarint(packed)
		}
		next := last + uid.UID(step)
		if n <= 0 || next <= last {
			return dst, fmt.Errorf("%w: a list that does not ascend", peer.ErrMessage)
		}
		dst, last, packed = append(dst, next), next, packed[n:]
	}
	return dst, nil
}

// uvarint is binary.Uvarint, but without a loop if the number has up to eight bytes.
func uvarint(b []byte) (uint64, int) {
	if len(b) < 8 {
		return binary.Uvarint(b)
	}
	v := binary.LittleEndian.Uint64(b)
	last := ^v & 0x8080808080808080
	if last == 0 {
		return binary.Uvarint(b)
	}
	v &= (last ^ (last - 1)) & 0x7f7f7f7f7f7f7f7f
	// The groups of 7 bits move together: into 14 bits, 28 bits, 56 bits.
	v = v&0x007f007f007f007f | v&0x7f007f007f007f00>>1
	v = v&0x00003fff00003fff | v&0x3fff00003fff0000>>2
	v = v&0x000000000fffffff | v&0x0fffffff00000000>>4
	return v, bits.TrailingZeros64(last)/8 + 1
}

// PackedDegree returns the number of UIDs of a packed list: the bytes below 0x80, because each
// UID has one.
func PackedDegree(packed []byte) (n int) {
	for len(packed) >= 8 {
		n += bits.OnesCount64(^binary.LittleEndian.Uint64(packed) & 0x8080808080808080)
		packed = packed[8:]
	}
	for _, b := range packed {
		if b < 0x80 {
			n++
		}
	}
	return n
}
