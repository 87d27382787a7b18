// Random numbers: derived seeds and streams of integers, without floating point.

package dataset

import (
	"math/bits"
	"math/rand/v2"
)

// mix is the finaliser of splitmix64, a bijection.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// derive returns the seed of a thing within the scope of seed. tag distinguishes kinds of things,
// and number the things of one kind.
func derive(seed, tag, number uint64) uint64 {
	return mix(mix(seed+0x9e3779b97f4a7c15*(tag+1)) ^ mix(number+0x632be59bd9b4e019))
}

// scaleTo maps a random x to [0, n); n must be positive. It uses no floating point, because last bits
// differ between machines.
func scaleTo(x uint64, n int) int {
	hi, _ := bits.Mul64(x, uint64(n))
	return int(hi)
}

// stream is a sequence of random integers.
type stream struct{ pcg rand.PCG }

func newStream(seed, tag, number uint64) (r stream) {
	r.pcg.Seed(seed, derive(seed, tag, number))
	return r
}

// n returns a number in [0, n); n must be positive.
func (r *stream) n(n int) int { return scaleTo(r.pcg.Uint64(), n) }

// intBetween returns a number in [lo, hi].
func (r *stream) intBetween(lo, hi int) int { return lo + r.n(hi-lo+1) }

// oneIn returns true with the probability 1/n.
func (r *stream) oneIn(n int) bool { return r.n(n) == 0 }

// zipf returns a number k in [0, 1<<octaves - 1); octaves must be at most 32. Its probability is
// near 1/(k+1): all octaves [1, 2), [2, 4), [4, 8)... of k+1 are equally likely, and so are all
// numbers of an octave.
func (r *stream) zipf(octaves int) int { return zipf(r.pcg.Uint64(), octaves) }

// zipf is stream.zipf for a random x. It uses the highest 48 bits of x.
func zipf(x uint64, octaves int) int {
	k := scaleTo(x, octaves)
	return 1<<k - 1 + int(x>>16&(1<<k-1))
}

// distinct fills dst with different numbers in [0, n). n must be at least len(dst), and should be
// much larger, because equal numbers are drawn again.
func (r *stream) distinct(dst []int, n int) {
	for i := range dst {
	draw:
		dst[i] = r.n(n)
		for _, seen := range dst[:i] {
			if seen == dst[i] {
				goto draw
			}
		}
	}
}
