// The reading half: a sequence over bytes that Open has verified.

package ef

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrCorrupt is wrapped by every error of Open: the bytes are no sequence.
var ErrCorrupt = errors.New("ef: damaged sequence")

// Sequence is a sequence of values that never decrease. The zero value is the
// empty sequence. A copy reads the same bytes.
type Sequence struct {
	n         int
	directory []byte // entries of 16 bytes
	blocks    []byte
}

// block is what an access needs of one block.
//
// Invariant: high has at least as many ones as the block has values, and low
// is followed by 8 bytes at least, those of high.
type block struct {
	base  uint64
	width uint
	low   []byte // low parts and what follows them
	high  []byte
}

// Len returns the number of values.
func (s Sequence) Len() int { return s.n }

// Last returns the last value, the greatest one; 0 where there is none.
func (s Sequence) Last() uint64 {
	if s.n == 0 {
		return 0
	}
	return s.At(s.n - 1)
}

// At returns value i, counted from 0.
func (s Sequence) At(i int) uint64 {
	if uint(i) >= uint(s.n) {
		panic(fmt.Sprintf("ef: index %d of a sequence of %d", i, s.n))
	}
	b := s.block(i >> blockShift)
	i &= blockLen - 1
	at, _ := b.selectOne(i)
	return b.value(i, at)
}

// Two returns the values i and i+1, both of which must be there: 0 <= i and
// i+1 < Len().
func (s Sequence) Two(i int) (lo, hi uint64) {
	if uint(i) >= uint(s.n) || i+1 >= s.n {
		panic(fmt.Sprintf("ef: indexes %d and %d of a sequence of %d", i, i+1, s.n))
	}
	b := s.block(i >> blockShift)
	j := i & (blockLen - 1)
	at, rest := b.selectOne(j)
	lo = b.value(j, at)
	if j == blockLen-1 {
		return lo, binary.LittleEndian.Uint64(s.directory[(i+1)>>blockShift*entryBytes:])
	}
	word := at >> 6
	for rest == 0 {
		word++
		rest = binary.LittleEndian.Uint64(b.high[word<<3:])
	}
	return lo, b.value(j+1, word<<6|bits.TrailingZeros64(rest))
}

// Search returns the first i with At(i) >= x, and Len() where there is none.
func (s Sequence) Search(x uint64) int {
	// Invariant: blocks below lo begin below x, blocks from hi on do not.
	lo, hi := 0, len(s.directory)/entryBytes
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if binary.LittleEndian.Uint64(s.directory[mid*entryBytes:]) < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return 0
	}
	first := (lo - 1) << blockShift
	return first + s.block(lo-1).search(x, min(blockLen, s.n-first))
}

// search returns the first of the block's m values that is not below x, which
// is above the block's base; m where there is none.
func (b block) search(x uint64, m int) int {
	x -= b.base
	// The values of a bucket are the ones after as many zeros as its number.
	zeros, at, ones := x>>b.width, 0, 0
	w := binary.LittleEndian.Uint64(b.high)
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
		w = binary.LittleEndian.Uint64(b.high[at>>3:])
	}
	if zeros > 0 {
		bit := selectInWord(^w, int(zeros-1)) + 1
		ones += bits.OnesCount64(w & (1<<uint(bit) - 1))
		at += bit
	}
	low := x & lowMask(int(b.width))
	for ones < m && b.high[at>>3]>>(at&7)&1 == 1 && b.lowPart(ones) < low {
		ones++
		at++
	}
	return min(ones, m)
}

func (s Sequence) block(k int) block {
	e := s.directory[k*entryBytes : k*entryBytes+entryBytes]
	place := binary.LittleEndian.Uint64(e[8:])
	width := uint(place >> offsetBits)
	low := s.blocks[(place&offsetMask)<<3:]
	m := blockLen
	if rest := s.n - k<<blockShift; rest < blockLen {
		m = rest
	}
	return block{
		base:  binary.LittleEndian.Uint64(e),
		width: width,
		low:   low,
		high:  low[lowSize(m, int(width)):],
	}
}

// selectOne returns the bit of one number i of the bitmap, and the ones after
// it in its word.
func (b block) selectOne(i int) (at int, rest uint64) {
	for at = 0; ; at += 64 {
		w := binary.LittleEndian.Uint64(b.high[at>>3:])
		c := bits.OnesCount64(w)
		if i < c {
			bit := selectInWord(w, i)
			return at + bit, w &^ (2<<uint(bit) - 1)
		}
		i -= c
	}
}

// value returns value i of the block, whose one is bit at.
func (b block) value(i, at int) uint64 {
	return b.base + (uint64(at-i)<<b.width | b.lowPart(i))
}

func (b block) lowPart(i int) uint64 {
	at := uint(i) * b.width
	return binary.LittleEndian.Uint64(b.low[at>>3:]) >> (at & 7) & lowMask(int(b.width))
}

// Open returns the sequence at the front of b and the number of bytes that it
// takes. The sequence reads b, which must not change. Any bytes may be given;
// an error wraps ErrCorrupt. Open reads all of the sequence once.
func Open(b []byte) (Sequence, int, error) {
	if len(b) < headerBytes {
		return Sequence{}, 0, fmt.Errorf("%w: %d bytes, no header", ErrCorrupt, len(b))
	}
	n, words := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	room := uint64(len(b)-headerBytes) / 8
	// A value takes a bit of a bitmap, and a block two words of the directory.
	if words > room || n > words*64 || 2*((n+blockLen-1)>>blockShift) > room-words {
		return Sequence{}, 0, fmt.Errorf("%w: %d values in %d words do not fit %d bytes", ErrCorrupt, n, words, len(b))
	}
	count := int((n + blockLen - 1) >> blockShift)
	end := headerBytes + count*entryBytes
	s := Sequence{
		n:         int(n),
		directory: b[headerBytes:end],
		blocks:    b[end : end+int(words)*8],
	}
	if err := s.check(); err != nil {
		return Sequence{}, 0, err
	}
	return s, end + len(s.blocks), nil
}

// check verifies every block: its place, its ones, and that no value is below
// the one before it or past 2^64-1.
func (s Sequence) check() error {
	var next, last uint64
	count := len(s.directory) / entryBytes
	for k := range count {
		e := s.directory[k*entryBytes:]
		place := binary.LittleEndian.Uint64(e[8:])
		width, offset := place>>offsetBits, place&offsetMask
		m := min(blockLen, s.n-k<<blockShift)
		end := uint64(len(s.blocks) / 8)
		if k+1 < count {
			end = binary.LittleEndian.Uint64(e[entryBytes+8:]) & offsetMask
		}
		if width > maxShiftedWidth && width != wholeWidth || offset != next || end < offset ||
			end > uint64(len(s.blocks)/8) || (end-offset)*8 < uint64(lowSize(m, int(width))+8) {
			return fmt.Errorf("%w: block %d of width %d has no place at words %d to %d", ErrCorrupt, k, width, offset, end)
		}
		next = end
		b := s.block(k)
		b.high = b.high[:int(end-offset)*8-lowSize(m, int(width))]
		if k > 0 && b.base < last {
			return fmt.Errorf("%w: block %d begins below the end of the one before", ErrCorrupt, k)
		}
		var ok bool
		if last, ok = b.check(m); !ok {
			return fmt.Errorf("%w: block %d has not %d values in order", ErrCorrupt, k, m)
		}
	}
	if next != uint64(len(s.blocks)/8) {
		return fmt.Errorf("%w: %d words, %d of them used", ErrCorrupt, len(s.blocks)/8, next)
	}
	return nil
}

// check returns the last of the block's m values, and whether they are there,
// begin with the base, and never decrease.
func (b block) check(m int) (last uint64, ok bool) {
	prev, i := uint64(0), 0
	for word := 0; word < len(b.high)/8; word++ {
		w := binary.LittleEndian.Uint64(b.high[word<<3:])
		for ; w != 0; w &= w - 1 {
			if i == m {
				return 0, false
			}
			at := word<<6 | bits.TrailingZeros64(w)
			high := uint64(at - i)
			if bits.Len64(high)+int(b.width) > 64 {
				return 0, false
			}
			v := high<<b.width | b.lowPart(i)
			if i == 0 && v != 0 || v < prev || b.base+v < b.base {
				return 0, false
			}
			prev = v
			i++
		}
	}
	tail := binary.LittleEndian.Uint64(b.high[len(b.high)-8:])
	return b.base + prev, i == m && tail != 0
}
