// Sequence: values in blocks of 256, over verified bytes.

package ef

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrCorrupt is wrapped by every error of Open, if the bytes are no valid sequence.
var ErrCorrupt = errors.New("ef: damaged sequence")

// Sequence is a sequence of non-decreasing values. The zero value is the empty sequence. A copy
// reads the same bytes. It is safe for concurrent use.
//
// Methods pass offsets in the one slice, because structs of more fields would go through memory
// at each call.
type Sequence struct {
	n      int
	b      []byte // from the header to the padding, inclusive
	blocks int    // offset of the blocks in b
}

// Len returns the number of values.
func (s *Sequence) Len() int { return s.n }

// Last returns the last and greatest value, or 0 if the sequence is empty.
func (s *Sequence) Last() uint64 {
	if s.n == 0 {
		return 0
	}
	return s.At(s.n - 1)
}

// At returns value i, counted from 0. It panics if i is not below Len.
func (s *Sequence) At(i int) uint64 {
	if uint(i) >= uint(s.n) {
		panicIndex(i, s.n)
	}
	base, place := s.entry(i >> blockShift)
	low, high := s.parts(i>>blockShift, place)
	i &= blockLen - 1
	at, _ := selectOne(s.b, high, place, i)
	return base + (uint64(at-i)<<(place>>widthShift) | lowPart(s.b, low, place, i))
}

// Pair returns the values i and i+1. Both must exist: 0 <= i and i+1 < Len(). Otherwise it
// panics.
func (s *Sequence) Pair(i int) (lo, hi uint64) {
	if uint(i) >= uint(s.n) || i+1 >= s.n {
		panicIndex(i+1, s.n)
	}
	base, place := s.entry(i >> blockShift)
	low, high := s.parts(i>>blockShift, place)
	j := i & (blockLen - 1)
	at, rest := selectOne(s.b, high, place, j)
	lo = base + (uint64(at-j)<<(place>>widthShift) | lowPart(s.b, low, place, j))
	if j == blockLen-1 {
		next, _ := s.entry(i>>blockShift + 1)
		return lo, next
	}
	word := at >> 6
	for rest == 0 {
		word++
		rest = binary.LittleEndian.Uint64(s.b[high+word<<3:])
	}
	at = word<<6 | bits.TrailingZeros64(rest)
	j++
	return lo, base + (uint64(at-j)<<(place>>widthShift) | lowPart(s.b, low, place, j))
}

// Search returns the first i with At(i) >= x, or Len() if there is none.
func (s *Sequence) Search(x uint64) int {
	// Invariant: blocks below lo begin below x, blocks from hi on do not.
	lo, hi := 0, (s.n+blockLen-1)>>blockShift
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if base, _ := s.entry(mid); base < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0
	}
	return (lo-1)<<blockShift + s.searchBlock(lo-1, x)
}

// searchBlock returns the number of values of block k below x. x must be above the block's base.
func (s *Sequence) searchBlock(k int, x uint64) int {
	base, place := s.entry(k)
	low, high := s.parts(k, place)
	m := s.blockSize(k)
	x -= base
	// 1. Skip whole words until the zeros before the bucket of x are counted. Bucket b, the values
	// with upper part b, is the run of ones after b zeros.
	zeros, at, ones := x>>(place>>widthShift), high<<3, 0
	w := binary.LittleEndian.Uint64(s.b[high:])
	for {
		c := uint64(bits.OnesCount64(w))
		if zeros <= 64-c {
			break
		}
		zeros -= 64 - c
		ones += int(c)
		at += 64
		if ones >= m {
			return m
		}
		w = binary.LittleEndian.Uint64(s.b[at>>3:])
	}
	// 2. Find the bucket's first one in its word.
	if zeros > 0 {
		bit := int(selectInWord(^w, uint(zeros-1))) + 1
		ones += bits.OnesCount64(w & (1<<uint(bit) - 1))
		at += bit
	}
	// 3. Compare low parts within the bucket, because their upper parts are equal.
	x &= lowMask(uint(place >> widthShift))
	for ones < m && s.b[at>>3]>>(at&7)&1 == 1 && lowPart(s.b, low, place, ones) < x {
		ones++
		at++
	}
	return ones
}

// entry returns the first value of block k and its place.
func (s *Sequence) entry(k int) (base, place uint64) {
	e := s.b[headerBytes+k*entryBytes:]
	e = e[:entryBytes]
	return binary.LittleEndian.Uint64(e), binary.LittleEndian.Uint64(e[8:])
}

// blockSize returns the number of values of block k.
func (s *Sequence) blockSize(k int) int { return min(blockLen, s.n-k<<blockShift) }

// parts returns the offsets in s.b of block k's low parts and bitmap.
func (s *Sequence) parts(k int, place uint64) (low, high int) {
	low = s.blocks + int(place&offsetMask)<<3
	return low, low + lowSize(s.blockSize(k), int(place>>widthShift))
}

// lowPart returns the low part of value i of a block. low is the offset of its low parts in b.
func lowPart(b []byte, low int, place uint64, i int) uint64 {
	width := int(place >> widthShift)
	at := i * width
	return binary.LittleEndian.Uint64(b[low+at>>3:]) >> (at & 7) & lowMask(uint(width))
}

// selectOne returns the bit of one number i of the bitmap at offset high of b, and the later
// ones in its word. It has no branch, because a branch on the word of a one would be
// mispredicted.
func selectOne(b []byte, high int, place uint64, i int) (at int, rest uint64) {
	ones1, ones2 := int(place>>ones1Shift&onesMask), int(place>>ones2Shift&onesMask)
	// -1 if the one is in a later group, else 0.
	past1, past2 := (ones1-1-i)>>63, (ones2-1-i)>>63
	group := -(past1 + past2)
	i -= ones1&past1 + (ones2-ones1)&past2
	p := b[high+group*groupBytes:]
	p = p[:groupBytes]
	c0 := bits.OnesCount64(binary.LittleEndian.Uint64(p))
	c1 := bits.OnesCount64(binary.LittleEndian.Uint64(p[8:])) + c0
	c2 := bits.OnesCount64(binary.LittleEndian.Uint64(p[16:])) + c1
	past1, past2 = (c0-1-i)>>63, (c1-1-i)>>63
	past3 := (c2 - 1 - i) >> 63
	word := -(past1 + past2 + past3) & 3
	i -= c0&past1 + (c1-c0)&past2 + (c2-c1)&past3
	w := binary.LittleEndian.Uint64(p[word<<3:])
	bit := selectInWord(w, uint(i))
	return group<<8 | word<<6 | int(bit), w &^ (2<<bit - 1)
}

// Open returns the sequence at the start of b, and its length in bytes. The sequence reads b,
// which must not change. Any bytes may be given, because Open reads and verifies the whole
// sequence once. An error wraps ErrCorrupt.
func Open(b []byte) (Sequence, int, error) {
	if len(b) < headerBytes {
		return Sequence{}, 0, fmt.Errorf("%w: %d bytes, no header", ErrCorrupt, len(b))
	}
	// 1. Check the header. It bounds all offsets below.
	n, words := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	if n == 0 && words == 0 {
		return Sequence{}, headerBytes, nil
	}
	room := uint64(len(b)-headerBytes) / 8
	// A value takes at least one bit of a bitmap, and a block two words of the directory.
	if words > room || n > words*64 || 2*((n+blockLen-1)>>blockShift)+paddingBytes/8 > room-words {
		return Sequence{}, 0, fmt.Errorf("%w: %d values in %d words do not fit %d bytes", ErrCorrupt, n, words, len(b))
	}
	count := int((n + blockLen - 1) >> blockShift)
	blocks := headerBytes + count*entryBytes
	end := blocks + int(words)*8 + paddingBytes
	// 2. The padding must be zero.
	for _, c := range b[end-paddingBytes : end] {
		if c != 0 {
			return Sequence{}, 0, fmt.Errorf("%w: it does not end with zeros", ErrCorrupt)
		}
	}
	// 3. Verify the blocks, because reads do not.
	s := Sequence{
		n:      int(n),
		b:      b[:end:end],
		blocks: blocks,
	}
	if err := s.check(); err != nil {
		return Sequence{}, 0, err
	}
	return s, end, nil
}

// check verifies every block: its offset, its ones, and its values. No value may be below the
// one before it or above 2^64-1.
func (s *Sequence) check() error {
	var next, last uint64
	count := (s.n + blockLen - 1) >> blockShift
	words := uint64(len(s.b)-s.blocks-paddingBytes) / 8
	for k := range count {
		base, place := s.entry(k)
		width, offset := place>>widthShift, place&offsetMask
		low := lowSize(s.blockSize(k), int(width))
		// 1. A block must begin at the end of the one before; the last one must fill the words.
		end := words
		if k+1 < count {
			_, end = s.entry(k + 1)
			end &= offsetMask
		}
		if width > maxShiftedWidth && width != wholeWidth || offset != next || end < offset || end > words ||
			(end-offset)*8 < uint64(low+8) || (end-offset)*8 > uint64(low+maxHighBytes) {
			return fmt.Errorf("%w: block %d of width %d has no place at words %d to %d", ErrCorrupt, k, width, offset, end)
		}
		next = end
		// 2. Values must not decrease, within a block and from block to block.
		if k > 0 && base < last {
			return fmt.Errorf("%w: block %d begins below the end of the one before", ErrCorrupt, k)
		}
		var ok bool
		if last, ok = s.checkBlock(k, s.blocks+int(end)<<3); !ok {
			return fmt.Errorf("%w: block %d does not hold its values in order", ErrCorrupt, k)
		}
	}
	return nil
}

// checkBlock returns the last value of block k, which must end at offset end. ok is false if a
// value is missing or below the one before it, or if the first value is not the base.
func (s *Sequence) checkBlock(k, end int) (last uint64, ok bool) {
	base, place := s.entry(k)
	low, high := s.parts(k, place)
	// 1. Compare the counts of ones, because selectOne relies on them.
	bitmap := s.b[high:end]
	if countOnes(bitmap, groupBytes) != place>>ones1Shift&onesMask ||
		countOnes(bitmap, 2*groupBytes) != place>>ones2Shift&onesMask {
		return 0, false
	}
	// 2. Decode every value.
	m, width := s.blockSize(k), int(place>>widthShift)
	i := 0
	var prev, w uint64
	for word := range len(bitmap) / 8 {
		for w = binary.LittleEndian.Uint64(bitmap[word<<3:]); w != 0; w &= w - 1 {
			if i == m {
				return 0, false
			}
			bucket := uint64((word<<6 | bits.TrailingZeros64(w)) - i)
			v := bucket<<width | lowPart(s.b, low, place, i)
			if i == 0 && v != 0 || v < prev || bits.Len64(bucket)+width > 64 {
				return 0, false
			}
			prev = v
			i++
		}
	}
	// 3. The bitmap must end with the word of its last one.
	ends := binary.LittleEndian.Uint64(bitmap[len(bitmap)-8:]) != 0
	return base + prev, i == m && ends && base+prev >= base
}
