// Selection of the k-th one bit of a word.

package ef

import "math/bits"

const (
	onesStep8 = 0x0101010101010101
	msbsStep8 = 0x8080808080808080
)

// selectInByte[k<<8|x] is the position of one bit number k of the byte x.
var selectInByte = func() (t [8 << 8]uint8) {
	for x := range 256 {
		for k, rest := 0, x; rest != 0; k, rest = k+1, rest&(rest-1) {
			t[k<<8|x] = uint8(bits.TrailingZeros8(uint8(rest)))
		}
	}
	return t
}()

// selectInWord returns the position of one bit number k of w. w must have more than k ones. (S.
// Vigna, "Broadword implementation of rank/select queries", 2008.)
func selectInWord(w uint64, k int) int {
	s := w - w>>1&0x5555555555555555
	s = s&0x3333333333333333 + s>>2&0x3333333333333333
	s = (s + s>>4) & 0x0f0f0f0f0f0f0f0f * onesStep8
	// Byte j of s is the number of ones in the bytes up to j.
	below := (uint64(k)*onesStep8 | msbsStep8) - s
	at := uint(bits.OnesCount64(below&msbsStep8)) * 8 & 63
	k -= int(s << 8 >> at & 0xff)
	return int(at) + int(selectInByte[(k<<8|int(w>>at&0xff))&(8<<8-1)])
}
