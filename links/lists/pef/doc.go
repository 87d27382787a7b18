// Package pef keeps sequences of non-decreasing integers as Elias-Fano sequences of 32 values
// each (G. Ottaviano and R. Venturini, "Partitioned Elias-Fano indexes", 2014). The parts of
// package ef have 256 values. Here a value takes fewer instructions and fewer lines of the
// processor's cache. If values are clustered, they take fewer bits; if they are evenly spread,
// they take a bit more.
//
// A [Sequence] reads its bytes in place, allocates nothing, and is safe for concurrent use.
// [Open] verifies everything, so values must not decrease, and no method can fail. A method
// panics if its index is not below Len, as a slice does.
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
//	| for each part:        |  m values v, m = 32 or the rest
//	|   base, b bytes       |  the first value
//	|   bitmap, uint64      |  bit ((v - base) >> l) + i for the i-th value
//	|   32 times l bits     |  (v - base) mod 2^l, 0 from the m-th on
//	+-----------------------+
//	| zeros, up to a        |
//	|   multiple of 8       |
//	| 8 bytes of zero       |  because a low part is read as 8 bytes; not if n is 0
//	+-----------------------+
//
// Bits count from the lowest of a byte. The parts follow one another without a gap. So the start
// of a part follows from the widths of those before it among the eight. l is the least width
// with room for the bitmap's last one. If it would be 58 or more, it is 64.
package pef
