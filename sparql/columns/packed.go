// Arrays of numbers of equal width.

package columns

import "math/bits"

// packed is an array of numbers of width bits each. Number i begins at bit i*width. One more word
// than needed is allocated, so that a read may always touch two.
type packed struct {
	words []uint64
	mask  uint64
	width uint
	n     int
}

// pack returns an array of values.
func pack(values []uint32) packed {
	var all uint32
	for _, v := range values {
		all |= v
	}
	p := packed{width: uint(bits.Len32(all)), n: len(values)}
	p.mask = 1<<p.width - 1
	p.words = make([]uint64, packedWords(uint64(p.n), p.width))
	for i, v := range values {
		at := uint(i) * p.width
		p.words[at/64] |= uint64(v) << (at % 64)
		if at%64+p.width > 64 {
			p.words[at/64+1] |= uint64(v) >> (64 - at%64)
		}
	}
	return p
}

// packedWords returns how many words an array has.
func packedWords(n uint64, width uint) uint64 { return (n*uint64(width)+63)/64 + 1 }

// get returns number i.
func (p *packed) get(i int) uint32 {
	at := uint(i) * p.width
	low, high := p.words[at/64]>>(at%64), p.words[at/64+1]<<1<<(63-at%64)
	return uint32((low | high) & p.mask)
}

// lowerBound returns the first place in [lo, hi) whose number is at least v; hi if there is none. The
// numbers in between must ascend.
func (p *packed) lowerBound(lo, hi int, v uint32) int {
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if p.get(mid) < v {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (p *packed) bytes() int64 { return int64(len(p.words)) * 8 }
