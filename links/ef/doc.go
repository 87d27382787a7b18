// Package ef keeps sequences of integers that never decrease in little more
// than 2 + log2(U/n) bits a value (n values that span U), with random access:
// Elias-Fano sequences, cut into blocks of 256 values so that one access reads
// two places of memory and its time has a bound for any values. (P. Elias,
// "Efficient storage and retrieval by content and address of static files",
// 1974; G. Ottaviano and R. Venturini, "Partitioned Elias-Fano indexes", 2014,
// for the blocks.)
//
// A [Sequence] reads its bytes where they lie, holds no pointer but the one to
// them, allocates nothing, and may be used by many goroutines at once. [Open]
// verifies everything: what it accepts never decreases, and no method can fail
// on it. A method panics where its index is not below Len, as a slice does.
//
// # Format
//
// All integers are little-endian, all pieces are multiples of 8 bytes:
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
//	| for each block:       |  m values v, m = 256 or what is left
//	|   m times l bits      |  (v - base) mod 2^l, filled up to a word
//	|   bitmap              |  bit ((v - base) >> l) + i for the i-th value
//	+-----------------------+
//	| 3 words of zero       |  not where n is 0
//	+-----------------------+
//
// Bits count from the lowest of a word, the first field of a word is its lowest.
// A bitmap ends with the word that holds its last one. It has m ones and, as l
// is chosen, at most 12 words: a one is found by its number in one of three
// groups of 4 words without a branch. The blocks follow one another without a
// gap; the zeros let the last group be read as a whole.
package ef
