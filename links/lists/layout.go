// Layout of numbers in control codes and data: Stream VByte with lengths in nybbles, chosen for
// a table.

package lists

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"
)

// lengths has the length of a number for each code: in nybbles, and for Reference in bits.
type lengths [4]uint8

// wideLengths is for lists with a number that is too large for the table's lengths.
var wideLengths = lengths{0, 2, 4, 8}

// maxLength is the greatest length in a table, because one load must hold two numbers and half a
// byte.
const maxLength = 7

// valid reports whether a table may have these lengths.
func (l lengths) valid(c Codec) bool {
	limit := uint8(maxLength)
	if c == Reference {
		limit = maxBits
	}
	return l[0] < l[1] && l[1] < l[2] && l[2] < l[3] && l[3] <= limit
}

// group describes the four numbers of a control byte in the data.
type group struct {
	mask         [4]uint32
	shift1       uint8 // bits before number 1
	shift3       uint8 // bits between the starts of numbers 2 and 3
	pair, length uint8 // nybbles of the first two numbers, and of all
}

// layout is the tables for reading and writing with some lengths.
type layout struct {
	groups [256]group
	mask   [4]uint32
	codes  [33]uint8 // by the bits of a number; 4 if it is too large
	packs  [33]uint8 // by the bits of a number: its code, and the length in bits below
	bits   [4]uint8  // by code
	wide   bool      // two numbers may exceed a load
}

// packBits is how many bits of an element of packs hold the length.
const (
	packBits = 6
	packMask = 1<<packBits - 1
)

func newLayout(l lengths) *layout {
	y := &layout{wide: l[3] > maxLength}
	for i, n := range l {
		y.mask[i] = uint32(1<<(4*n) - 1)
		y.bits[i] = 4 * n
	}
	for b := range y.codes {
		for y.codes[b] < 4 && int(y.bits[y.codes[b]]) < b {
			y.codes[b]++
		}
		if code := y.codes[b]; code < 4 {
			y.packs[b] = code<<packBits | y.bits[code]
		}
	}
	for c := range y.groups {
		g := &y.groups[c]
		var n [4]uint8
		for i := range n {
			code := c >> (2 * i) & 3
			g.mask[i], n[i] = y.mask[code], l[code]
		}
		g.shift1, g.shift3 = 4*n[0], 4*n[2]
		g.pair = n[0] + n[1]
		g.length = g.pair + n[2] + n[3]
	}
	return y
}

var wideLayout = newLayout(wideLengths)

// layouts caches the layouts of tables by the set of their lengths. Tables share them, because a
// layout is six kilobytes and should stay in the processor's cache if the tables of many cells
// are read.
var layouts [1 << (maxLength + 1)]atomic.Pointer[layout]

// layoutOf returns the layout of valid lengths. The caller must not change it.
func layoutOf(l lengths) *layout {
	known := &layouts[1<<l[0]|1<<l[1]|1<<l[2]|1<<l[3]]
	y := known.Load()
	if y == nil {
		y = newLayout(l)
		known.Store(y)
	}
	return y
}

// histogram counts numbers by their length in bits.
type histogram [33]uint64

func (h *histogram) add(numbers []uint32) {
	for _, v := range numbers {
		h[bits.Len32(v)]++
	}
}

// penalty is about how many bits a list grows by if a number is too large, so that it is wide.
const penalty = 300

// best returns the lengths with the smallest total size of the numbers.
func (h *histogram) best() lengths {
	least, choice := ^uint64(0), lengths{0, 1, 2, 4}
	// 1. Try every set of four lengths. There are only 70.
	for set := range 1 << (maxLength + 1) {
		if bits.OnesCount(uint(set)) != 4 {
			continue
		}
		var l lengths
		for i, s := 0, uint(set); s != 0; i, s = i+1, s&(s-1) {
			l[i] = uint8(bits.TrailingZeros(s))
		}
		// 2. Add up the bits of all numbers. Codes ascend with the bits, so code never goes
		// back.
		cost, code := uint64(0), 0
		for b, n := range h {
			for code < 4 && b > 4*int(l[code]) {
				code++
			}
			if code < 4 {
				cost += n * uint64(4*l[code])
			} else {
				cost += n * penalty
			}
		}
		if cost < least {
			least, choice = cost, l
		}
	}
	return choice
}

// bestBits is best for lengths in bits.
func (h *histogram) bestBits() (choice lengths) {
	// 1. Add up the numbers, so that those between two lengths are one difference.
	var below [maxBits + 2]uint64
	for b, n := range h {
		below[b+1] = below[b] + n
	}
	least := ^uint64(0)
	// 2. Try every set of four lengths.
	for l3 := 3; l3 <= maxBits; l3++ {
		for l2 := 2; l2 < l3; l2++ {
			for l1 := 1; l1 < l2; l1++ {
				for l0 := range l1 {
					cost, before := (below[maxBits+1]-below[l3+1])*penalty, uint64(0)
					for _, l := range [4]int{l0, l1, l2, l3} {
						cost += (below[l+1] - before) * uint64(l)
						before = below[l+1]
					}
					if cost < least {
						least, choice = cost, lengths{uint8(l0), uint8(l1), uint8(l2), uint8(l3)}
					}
				}
			}
		}
	}
	return choice
}

// unpack decodes four numbers v for each control byte, from nybble at of data on. It sets out to
// the running sums of last + v + 1, in 32 bits. It returns the last sum in 64 bits, and the
// nybble behind the numbers. ok is false if out is too short, or if a group has less than
// svbSlack bytes of data.
func (y *layout) unpack(out []uint32, control, data []byte, at uint64, last uint64) (sum, end uint64, ok bool) {
	if len(data) < svbSlack {
		return 0, 0, len(control) == 0
	}
	if y.wide {
		return y.unpackWide(out, control, data, at, last)
	}
	limit := uint64(len(data)-svbSlack) * 2
	// Loads are unchecked, because the loop checks each group against limit.
	first := unsafe.Pointer(unsafe.SliceData(data))
	for _, c := range control {
		if at > limit+1 || len(out) < 4 {
			return 0, 0, false
		}
		g := &y.groups[c]
		mid := at + uint64(g.pair)
		// The first two numbers have at most 7 bytes. The last byte read here is 15 bytes behind
		// at>>1, which is less than svbSlack.
		a := load(first, at>>1) >> (at & 1 * 4)
		b := load(first, mid>>1) >> (mid & 1 * 4)
		v0 := last + uint64(uint32(a)&g.mask[0]) + 1
		v1 := v0 + uint64(uint32(a>>(g.shift1&63))&g.mask[1]) + 1
		v2 := v1 + uint64(uint32(b)&g.mask[2]) + 1
		last = v2 + uint64(uint32(b>>(g.shift3&63))&g.mask[3]) + 1
		out[0], out[1], out[2], out[3] = uint32(v0), uint32(v1), uint32(v2), uint32(last)
		out = out[4:]
		at += uint64(g.length)
	}
	return last, at, true
}

// load reads the 8 bytes at offset at from first, which must exist.
func load(first unsafe.Pointer, at uint64) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(first, at))[:])
}

// unpackWide is unpack for numbers of any length.
func (y *layout) unpackWide(out []uint32, control, data []byte, at uint64, last uint64) (sum, end uint64, ok bool) {
	limit := uint64(len(data)-svbSlack) * 2
	for _, c := range control {
		if at > limit+1 || len(out) < 4 {
			return 0, 0, false
		}
		for i := range 4 {
			v := uint32(binary.LittleEndian.Uint64(data[at>>1:])>>(at&1*4)) & y.mask[c&3]
			at += uint64(y.bits[c&3]) >> 2
			c >>= 2
			last += uint64(v) + 1
			out[i] = uint32(last)
		}
		out = out[4:]
	}
	return last, at, true
}

// size returns the length of the numbers' data in bytes, and whether all fit the layout.
func (y *layout) size(numbers []uint32) (bytes uint64, ok bool) {
	n := uint64(0)
	for _, v := range numbers {
		code := y.codes[bits.Len32(v)]
		if code > 3 {
			return 0, false
		}
		n += uint64(y.bits[code])
	}
	return (n + 7) / 8, true
}

// padding returns the nybbles of that many codes past the last number. unpack counts them, but
// the data does not have them.
func (y *layout) padding(codes uint64) uint64 { return codes * uint64(y.bits[0]>>2) }

// pack appends the control bytes and the data of numbers. All must fit.
func (y *layout) pack(dst []byte, numbers []uint32) []byte {
	// 1. Fill the last group with zeros. Their bits are taken off at the end.
	padding := 0 // bits
	for len(numbers)%4 != 0 {
		numbers = append(numbers, 0)
		padding += int(y.bits[0])
	}
	n := len(numbers)
	control := len(dst)
	// 2. Make room for the largest result plus one store, because each store writes 8 bytes.
	dst = slices.Grow(dst, n/4+4*n+8)
	buf := dst[:cap(dst)]
	p := control + n/4
	acc, have := uint64(0), uint(0) // bits not yet written
	for ; !y.wide && len(numbers) >= 4; numbers = numbers[4:] {
		// One store holds two numbers and half a byte.
		p0, p1 := y.packs[bits.Len32(numbers[0])], y.packs[bits.Len32(numbers[1])]
		p2, p3 := y.packs[bits.Len32(numbers[2])], y.packs[bits.Len32(numbers[3])]
		buf[control] = p0>>packBits | p1>>packBits<<2 | p2>>packBits<<4 | p3>>packBits<<6
		control++
		n0, n2 := uint(p0&packMask), uint(p2&packMask)
		acc |= (uint64(numbers[0]) | uint64(numbers[1])<<(n0&63)) << (have & 63)
		have += n0 + uint(p1&packMask)
		binary.LittleEndian.PutUint64(buf[p:], acc)
		p += int(have >> 3)
		acc >>= have &^ 7 & 63
		have &= 7
		acc |= (uint64(numbers[2]) | uint64(numbers[3])<<(n2&63)) << (have & 63)
		have += n2 + uint(p3&packMask)
		binary.LittleEndian.PutUint64(buf[p:], acc)
		p += int(have >> 3)
		acc >>= have &^ 7 & 63
		have &= 7
	}
	// 3. If the layout is wide, write number by number, because two may exceed a store.
	for ; len(numbers) >= 4; numbers = numbers[4:] {
		c := byte(0)
		for i, v := range numbers[:4] {
			code := y.codes[bits.Len32(v)] & 3
			c |= code << (2 * i)
			acc |= uint64(v) << (have & 63)
			have += uint(y.bits[code])
			binary.LittleEndian.PutUint64(buf[p:], acc)
			p += int(have >> 3)
			acc >>= have &^ 7 & 63
			have &= 7
		}
		buf[control] = c
		control++
	}
	return dst[:(8*p+int(have)-padding+7)>>3]
}
