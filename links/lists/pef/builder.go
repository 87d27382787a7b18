// The writing half.

package pef

import (
	"encoding/binary"
	"math/bits"
)

// Append appends the sequence of values, which never decrease, to dst and returns it.
// It panics where they decrease.
func Append(dst []byte, values []uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(values)))
	if len(values) == 0 {
		return binary.LittleEndian.AppendUint64(dst, 0)
	}
	size := len(dst)
	dst = append(dst, make([]byte, 8)...)
	directory := len(dst)
	dst = append(dst, make([]byte, entryBytes*((len(values)-1)/(partLen*entryParts)+1))...)
	parts := len(dst)
	baseBytes := (bits.Len64(values[(len(values)-1)&^(partLen-1)]) + 7) / 8
	last := uint64(0)
	for k := 0; k*partLen < len(values); k++ {
		part := values[k*partLen : min((k+1)*partLen, len(values))]
		for _, v := range part {
			if v < last {
				panic("pef: a value is below the one before it")
			}
			last = v
		}
		entry := dst[directory+k>>entryShift*entryBytes:]
		if k%entryParts == 0 {
			binary.LittleEndian.PutUint64(entry, uint64(len(dst)-parts))
		}
		width := bestWidth(part)
		entry[8+k%entryParts] = byte(width)
		dst = appendPart(dst, part, width, baseBytes)
	}
	for (len(dst)-parts)%8 != 0 {
		dst = append(dst, 0)
	}
	binary.LittleEndian.PutUint64(dst[size:], uint64(len(dst)-parts)|uint64(baseBytes)<<sizeShift)
	return append(dst, make([]byte, paddingBytes)...)
}

// bestWidth returns the least width with which the bitmap has room for all values.
func bestWidth(part []uint64) uint {
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
	base := part[0]
	bitmap := uint64(0)
	for i, v := range part {
		bitmap |= 1 << ((v-base)>>width + uint64(i))
	}
	dst = binary.LittleEndian.AppendUint64(dst, base)[:len(dst)+baseBytes]
	dst = binary.LittleEndian.AppendUint64(dst, bitmap)
	low := len(dst)
	dst = append(dst, make([]byte, lowUnit*int(width))...)
	acc, have := uint64(0), uint(0) // bits that are not written
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
