// Package pef keeps sequences of integers that never decrease as Elias-Fano
// sequences of 32 values each (G. Ottaviano and R. Venturini, "Partitioned
// Elias-Fano indexes", 2014). Beside package ef, whose parts have 256 values, a value
// is found with fewer instructions and in fewer lines of the processor's cache, and
// values in clusters take fewer bits; evenly spread ones take a bit more.
//
// A [Sequence] reads its bytes where they lie, allocates nothing, and may be used by
// many goroutines at once. [Open] verifies everything: what it accepts never
// decreases, and no method can fail on it. A method panics where its index is not
// below Len, as a slice does.
//
// # Format
//
// All integers are little-endian:
//
//	+-----------------------+
//	| uint64 n              |  values
//	| uint56 bytes          |  of all parts, a multiple of 8
//	| uint8  b              |  bytes of a base: 0 to 8
//	+-----------------------+
//	| ceil(n/256) times:    |                                  directory
//	|   uint64 offset       |  of the first of eight parts, in bytes
//	|   8 times uint8 l     |  bits of a low part: 0 to 57, or 64
//	+-----------------------+
//	| for each part:        |  m values v, m = 32 or what is left
//	|   base, b bytes       |  the first value
//	|   bitmap, uint64      |  bit ((v - base) >> l) + i for the i-th value
//	|   32 times l bits     |  (v - base) mod 2^l, 0 from the m-th on
//	+-----------------------+
//	| zeros, up to a        |
//	|   multiple of 8       |
//	| 8 bytes of zero       |  so that a low part is read as 8 bytes; not where n is 0
//	+-----------------------+
//
// Bits count from the lowest of a byte. The parts follow one another without a gap, so
// that where one begins is known from the lengths of those before it of the eight. l
// is the least that leaves room for the bitmap's last one; from 58 on it is 64.
package pef
