// Bit streams of the codec Reference: writing and reading numbers of a few bits.

package lists

import (
	"math/bits"
	"unsafe"
)

// maxBits is the greatest length of a number.
const maxBits = 32

// bitWriter appends bits, the lowest first.
//
// Invariant: the bits of acc from have on are zero, and have < 8 between calls.
type bitWriter struct {
	buf  []byte
	acc  uint64
	have uint
}

// put appends the lowest n bits of v. n must be at most 32, and v must be below 2^n.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v << w.have
	for w.have += n; w.have >= 8; w.have -= 8 {
		w.buf = append(w.buf, byte(w.acc))
		w.acc >>= 8
	}
}

// gamma appends v < 2^32 in Elias' gamma code: as many zeros as v+1 has bits behind its highest,
// a one, and these bits.
func (w *bitWriter) gamma(v uint64) {
	n := uint(bits.Len64(v+1)) - 1
	w.put(0, n)
	w.put(1, 1)
	w.put((v+1)&(1<<n-1), n)
}

// gammaBits returns the length of gamma's result.
func gammaBits(v uint64) int { return 2*bits.Len64(v+1) - 1 }

// distance appends a number of n nybbles, at least one, as n-1 zeros, a one and the nybbles.
func (w *bitWriter) distance(v uint32) {
	n := uint(distanceBits(v) / 5)
	w.put(1<<(n-1), n)
	w.put(uint64(v), 4*n)
}

// distanceBits returns the length of distance's result.
func distanceBits(v uint32) int { return 5 * ((max(bits.Len32(v), 1) + 3) / 4) }

// bits returns the number of bits so far.
func (w *bitWriter) bits() uint64 { return uint64(len(w.buf))*8 + uint64(w.have) }

// bitReader reads what a bitWriter has written. Reads beyond the end return anything.
type bitReader struct {
	first unsafe.Pointer
	last  uint64 // offset of the last 8 bytes
	pos   uint64 // of the next bit
	// While numbers are read, pos is before the next one's bits, and control before its code.
	control uint64
}

// seek sets the reader before bit pos of data, which must have at least 8 bytes.
func (r *bitReader) seek(data []byte, pos uint64) {
	r.first, r.last, r.pos = unsafe.Pointer(unsafe.SliceData(data)), uint64(len(data))-8, pos
}

// peek returns at least the next 57 bits, the first one lowest.
func (r *bitReader) peek() uint64 { return load(r.first, min(r.pos>>3, r.last)) >> (r.pos & 7) }

// peekBits is how many bits peek returns at least.
const peekBits = 57

// shortGamma reads a number of bitWriter.gamma from the lowest bits of w. It returns its length,
// too. If that is greater than the number of bits in w, the number is anything.
func shortGamma(w uint64) (v uint64, length uint) {
	n := uint(bits.TrailingZeros64(w))
	return w>>((n+1)&63)&(1<<(n&63)-1) + 1<<(n&63) - 1, 2*n + 1
}

// gamma reads a number of bitWriter.gamma. The result is at most 2^33.
func (r *bitReader) gamma() uint64 {
	v, n := shortGamma(r.peek())
	if n > peekBits {
		return r.longGamma(n / 2)
	}
	r.pos += uint64(n)
	return v
}

// skipOne skips the next bit if it is a one.
func (r *bitReader) skipOne() bool {
	one := r.peek() & 1
	r.pos += one
	return one != 0
}

// longGamma reads a number that begins with n zeros.
func (r *bitReader) longGamma(n uint) uint64 {
	n = min(n, 33)
	r.pos += uint64(n + 1)
	v := r.peek()&(1<<n-1) + 1<<n - 1
	r.pos += uint64(n)
	return v
}

// distance reads a number of bitWriter.distance.
func (r *bitReader) distance() uint32 {
	w := r.peek()
	n := min(uint(bits.TrailingZeros64(w))+1, 8)
	r.pos += uint64(5 * n)
	return uint32(w >> n & (1<<(4*n) - 1))
}

// take reads n bits, at most 32.
func (r *bitReader) take(n uint) uint64 {
	v := r.peek() & (1<<n - 1)
	r.pos += uint64(n)
	return v
}

// chunkLen is how many numbers bitReader.sums reads between two checks of its bounds.
const chunkLen = 16

// refSlack is how many bytes must follow the last list of Reference, because sums checks bounds
// only once for chunkLen numbers.
const refSlack = chunkLen*4 + 16

// codes has the length and the mask of a number for each code.
type codes struct {
	length, mask [4]uint64
}

func codesOf(l lengths) (c codes) {
	for i, n := range l {
		c.length[i], c.mask[i] = uint64(n), 1<<n-1
	}
	return c
}

// numbers begins n numbers of bitWriter.numbers. down and up read them.
func (r *bitReader) numbers(n int) {
	r.control = r.pos
	r.pos += 2 * uint64(n)
}

// readDescending reads numbers v and sets out to ascending targets below key: the last is key - v - 1 for
// the first v, and each other one is v + 1 below the one behind it. ok is false if a target is
// below 0, or if the numbers begin or continue beyond the lists.
func (r *bitReader) readDescending(out []uint32, c *codes, key uint32) (ok bool) {
	first, control, at, limit := r.first, r.control, r.pos, (r.last+8-refSlack)*8
	sum := uint64(key)
	for len(out) > 0 {
		if at > limit {
			return false
		}
		codes := load(first, control>>3) >> (control & 7)
		n := min(len(out), chunkLen)
		control += 2 * uint64(n)
		part := out[len(out)-n:]
		out = out[:len(out)-n]
		for i := len(part) - 1; i >= 0; i-- {
			sum -= load(first, at>>3)>>(at&7)&c.mask[codes&3] + 1
			at += c.length[codes&3]
			codes >>= 2
			part[i] = uint32(sum)
		}
	}
	r.control, r.pos = control, at
	return sum <= uint64(key)
}

// readAscending reads numbers v and sets out to ascending targets: the first v + key, and each other one
// v + 1 above the one before it. ok is false if a target is not below end, or if the numbers
// begin or continue beyond the lists.
func (r *bitReader) readAscending(out []uint32, c *codes, key, end uint32) (ok bool) {
	first, control, at, limit := r.first, r.control, r.pos, (r.last+8-refSlack)*8
	sum := uint64(key) - 1
	for len(out) > 0 {
		if at > limit {
			return false
		}
		codes := load(first, control>>3) >> (control & 7)
		n := min(len(out), chunkLen)
		control += 2 * uint64(n)
		part := out[:n]
		out = out[n:]
		for i := range part {
			sum += load(first, at>>3)>>(at&7)&c.mask[codes&3] + 1
			at += c.length[codes&3]
			codes >>= 2
			part[i] = uint32(sum)
		}
	}
	r.control, r.pos = control, at
	return int64(sum) < int64(end)
}

// numbers appends numbers with the lengths of l: two bits for each, the index of the least
// length in l that suffices, then the bits of each. All must fit.
func (w *bitWriter) numbers(numbers []uint32, l lengths) {
	code := func(v uint32) int {
		c := 0
		for int(l[c]) < bits.Len32(v) {
			c++
		}
		return c
	}
	for _, v := range numbers {
		w.put(uint64(code(v)), 2)
	}
	for _, v := range numbers {
		w.put(uint64(v), uint(l[code(v)]))
	}
}
