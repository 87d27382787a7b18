// Writer of Parts.

package ef

import (
	"encoding/binary"
	"math/bits"
)

// AppendParts appends values as [Parts] to dst and returns it. It panics if the values decrease.
func AppendParts(dst []byte, values []uint64) []byte {
	// 1. Write the header and room for the directory.
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(values)))
	if len(values) == 0 {
		return binary.LittleEndian.AppendUint64(dst, 0)
	}
	size := len(dst)
	dst = append(dst, make([]byte, 8)...)
	directory := len(dst)
	dst = append(dst, make([]byte, entryBytes*((len(values)-1)/(partLen*entryParts)+1))...)
	parts := len(dst)
	// 2. Write the parts. All bases have the length of the last one, because it is the greatest.
	baseBytes := (bits.Len64(values[(len(values)-1)&^(partLen-1)]) + 7) / 8
	last := uint64(0)
	for k := 0; k*partLen < len(values); k++ {
		part := values[k*partLen : min((k+1)*partLen, len(values))]
		for _, v := range part {
			if v < last {
				panic("ef: a value is below the one before it")
			}
			last = v
		}
		entry := dst[directory+k>>entryShift*entryBytes:]
		if k%entryParts == 0 {
			binary.LittleEndian.PutUint64(entry, uint64(len(dst)-parts))
		}
		width := partWidth(part)
		entry[8+k%entryParts] = byte(width)
		dst = appendPart(dst, part, width, baseBytes)
	}
	// 3. Pad the parts. More zeros follow, because a low part is read as 8 bytes.
	for (len(dst)-parts)%8 != 0 {
		dst = append(dst, 0)
	}
	binary.LittleEndian.PutUint64(dst[size:], uint64(len(dst)-parts)|uint64(baseBytes)<<sizeShift)
	return append(dst, make([]byte, partPadding)...)
}

// partWidth returns the least width with room for all values in the bitmap.
func partWidth(part []uint64) uint {
	span := part[len(part)-1] - part[0]
	width := uint(max(0, bits.Len64(span)-partShift-1))
	if span>>width > 64-partLen {
		width++
	}
	if width > maxShiftedWidth {
		return wholeWidth
	}
	return width
}

func appendPart(dst []byte, part []uint64, width uint, baseBytes int) []byte {
	// 1. Write the base and the bitmap of the upper parts.
	base := part[0]
	bitmap := uint64(0)
	for i, v := range part {
		bitmap |= 1 << ((v-base)>>width + uint64(i))
	}
	dst = binary.LittleEndian.AppendUint64(dst, base)[:len(dst)+baseBytes]
	dst = binary.LittleEndian.AppendUint64(dst, bitmap)
	// 2. Write the low parts, 64 bits at a time. A value may cross two words.
	low := len(dst)
	dst = append(dst, make([]byte, lowUnit*int(width))...)
	acc, have := uint64(0), uint(0) // bits not yet written
	for _, v := range part {
		v = (v - base) & lowMask(width)
		acc |= v << have
		if have+width >= 64 {
			binary.LittleEndian.PutUint64(dst[low:], acc)
			low += 8
			acc = v >> (64 - have)
			have -= 64
		}
		have += width
	}
	for ; have > 0 && have < 64; have -= min(have, 8) {
		dst[low] = byte(acc)
		low++
		acc >>= 8
	}
	return dst
}
