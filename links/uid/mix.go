// The bijection that orders UIDs for consistent sampling.

package uid

// The multipliers of splitmix64's finaliser (Steele, Lea and Flood, Fast
// Splittable Pseudorandom Number Generators, OOPSLA 2014) and their inverses
// modulo 2^64.
const (
	mul1, unmul1 = 0xbf58476d1ce4e5b9, 0x96de1b173f119089
	mul2, unmul2 = 0x94d049bb133111eb, 0x319642b2d24d8ec3
)

// Mix is the finaliser of splitmix64: a bijection of the 64-bit numbers with values that look
// random. It must never change, because samples are the k smallest values. They must be the same
// on every machine and in every version.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * mul1
	x = (x ^ x>>27) * mul2
	return x ^ x>>31
}

// Unmix is the inverse of [Mix].
func Unmix(x uint64) uint64 {
	x = (x ^ x>>31 ^ x>>62) * unmul2
	x = (x ^ x>>27 ^ x>>54) * unmul1
	return x ^ x>>30 ^ x>>60
}
