// What both forms share: sizes, masks, and the selection of the i-th one bit.

package ef

import (
	"fmt"
	"math/bits"
)

const (
	onesStep8 = 0x0101010101010101
	msbsStep8 = 0x8080808080808080
)

// selectInByte[i][x] is the position of one bit number i of the byte x.
var selectInByte = func() (t [8][256]uint8) {
	for x := range 256 {
		for i, rest := 0, x; rest != 0; i, rest = i+1, rest&(rest-1) {
			t[i][x] = uint8(bits.TrailingZeros8(uint8(rest)))
		}
	}
	return t
}()

// selectInWord returns the position of one bit number i of w. w must have more than i ones. (S.
// Vigna, "Broadword implementation of rank/select queries", 2008.)
func selectInWord(w uint64, i uint) uint {
	s := w - w>>1&0x5555555555555555
	s = s&0x3333333333333333 + s>>2&0x3333333333333333
	s = (s + s>>4) & 0x0f0f0f0f0f0f0f0f * onesStep8
	// Byte j of s is the number of ones in the bytes up to j.
	below := (uint64(i)*onesStep8 | msbsStep8) - s
	at := uint(bits.OnesCount64(below&msbsStep8)) * 8 & 63
	return at + uint(selectInByte[(i-uint(s<<8>>at))&7][uint8(w>>at)])
}

// lowMask returns a mask of the lowest width bits.
func lowMask(width uint) uint64 { return 1<<width - 1 }

const (
	headerBytes = 16
	entryBytes  = 16 // of an entry of the directory

	// maxShiftedWidth is the widest low part that one 8-byte read holds at any bit offset. If
	// values need more, they are kept whole.
	maxShiftedWidth = 57
	wholeWidth      = 64
)

func panicIndex(i, n int) {
	panic(fmt.Sprintf("ef: index %d of a sequence of %d", i, n))
}
