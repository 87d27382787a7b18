// Package ef keeps sequences of non-decreasing integers with random access. A value takes little
// more than 2 + log2(U/n) bits if n values span U. They are Elias-Fano sequences in blocks of
// 256 values. Because of the blocks, one access reads two places of memory, and its time is
// bounded for any values. (P. Elias, "Efficient storage and retrieval by content and address of
// static files", 1974; for the blocks G. Ottaviano and R. Venturini, "Partitioned Elias-Fano
// indexes", 2014.)
//
// A [Sequence] reads its bytes in place, has no other pointer, allocates nothing, and is safe
// for concurrent use. [Open] verifies everything, so values must not decrease, and no method can
// fail. A method panics if its index is not below Len, as a slice does.
//
// # Format
//
// All integers are little-endian. The length of each piece must be a multiple of 8 bytes:
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
// Bits count from the lowest of a word, and the first field of a word is its lowest. A bitmap
// ends with the word of its last one. It has m ones. Because of the choice of l, it has at most
// 12 words. So a one is found by its number in one of three groups of 4 words, without a branch.
// The blocks follow one another without a gap. The zeros are needed because the last group is
// read as a whole.
package ef
