// Package ef keeps sequences of non-decreasing integers with random access. A value takes little
// more than 2 + log2(U/n) bits if n values span U. They are Elias-Fano sequences in pieces. (P.
// Elias, "Efficient storage and retrieval by content and address of static files", 1974; for the
// pieces G. Ottaviano and R. Venturini, "Partitioned Elias-Fano indexes", 2014.)
//
// There are two forms. [Sequence] has blocks of 256 values. Because of the blocks, one access reads
// two places of memory, and its time is bounded for any values. [Parts] has parts of 32 values. A
// read takes fewer instructions and fewer lines of the processor's cache. If values are clustered,
// they take fewer bits than in a Sequence; if they are evenly spread, they take a bit more.
// [Gather] and the functions beside it read many values of Parts in steps.
//
// Both read their bytes in place, allocate nothing, and are safe for concurrent use. [Open] and
// [OpenParts] verify everything, so values must not decrease, and no method can fail. A method
// panics if its index is not below Len, as a slice does.
//
// All integers are little-endian. Bits count from the lowest of a word, and the first field of a
// word is its lowest.
//
// # Format of a Sequence
//
// The length of each piece is a multiple of 8 bytes:
//
//	+-----------------------+
//	| uint64 n              |  values
//	| uint64 words          |  8-byte words of all blocks
//	+-----------------------+
//	| ceil(n/256) times:    |                                  directory
//	|   uint64 base         |  the block's first value
//	|   uint39 offset       |  of the block, in words after the directory
//	|   uint9  ones         |  in the first 4 words of its bitmap
//	|   uint9  ones         |  in the first 8 words of its bitmap
//	|   uint7  l            |  bits of a low part: 0 to 57, or 64
//	+-----------------------+
//	| for each block:       |  m values v, m = 256 or the rest
//	|   m times l bits      |  (v - base) mod 2^l, filled up to a word
//	|   bitmap              |  bit ((v - base) >> l) + i for the i-th value
//	+-----------------------+
//	| 3 words of zero       |  not if n is 0
//	+-----------------------+
//
// A bitmap ends with the word of its last one. It has m ones. Because of the choice of l, it has
// at most 12 words. So a one is found by its number in one of three groups of 4 words, without a
// branch. The blocks follow one another without a gap. The zeros are needed because the last group
// is read as a whole.
//
// # Format of Parts
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
// The parts follow one another without a gap. So the start of a part follows from the widths of
// those before it among the eight. l is the least width with room for the bitmap's last one. If it
// would be 58 or more, it is 64.
package ef
