// Package trie says which machine a key belongs to. It holds the two halves of
// that answer, both immutable and both part of what a view agrees on:
//
//	key -> segment               [Trie]
//	partition -> machine         [Placement]
//
// A segment is a half-open range [Lo, Hi) of the ordered space of keys, the
// unit of placement, splitting and moving; it names the partition it is in. The
// segments of a trie cover the whole space, from the empty key on, without a
// gap or an overlap. The package is pure: no goroutine, clock, file or socket.
//
// Updates return a new value that shares all it can with the old one, which
// stays as it was. So every value is safe for concurrent use without a lock,
// and a query keeps the trie that it started with for as long as it likes.
//
// # Encoding
//
// Both encodings are canonical: equal values have equal bytes, and what parses
// is encoded again as the same bytes. "uvarint" is the variable-length integer
// of encoding/binary in its shortest form, at most 64 bits; fixed integers are
// big-endian. The checksum is the xxhash64 of every byte before it. It finds
// damage, not forgery, so a parser trusts no length it reads.
//
// A trie, see [Trie.AppendBinary] and [Parse]:
//
//	+-----+-----+-----+-----+------+
//	| 't'   'f'   'T'   'R' | 0x01 |                       magic, version
//	+-----+-----+-----+-----+------+
//	| uvarint n                    |                       segments, n >= 1
//	+------------------------------+
//	| n times, ascending by bound: |
//	|   uvarint shared             |  bytes in common with the bound before
//	|   uvarint r                  |  length of what follows
//	|   r bytes                    |  the rest of the lower bound
//	|   uvarint id                 |
//	|   uvarint partition          |  below 2^32
//	+------------------------------+
//	| 8 bytes                      |                       checksum
//	+------------------------------+
//
// The first lower bound is empty (shared = r = 0). Each other one is greater
// than the one before it, and shared is as long as it can be: either it is the
// whole bound before, or the first of the r bytes is greater than the byte that
// it takes the place of. An upper bound is the next segment's lower bound. At
// most [MaxBoundLen] bytes in one bound and [MaxBoundBytes] in all of them.
//
// A placement, see [Placement.AppendBinary] and [ParsePlacement]:
//
//	+-----+-----+-----+-----+------+
//	| 't'   'f'   'P'   'L' | 0x01 |                       magic, version
//	+-----+-----+-----+-----+------+
//	| uvarint m                    |                       machines, m >= 1
//	+------------------------------+
//	| m times 8 bytes              |  machine ID, never 0, ascending
//	+------------------------------+
//	| uvarint p                    |                       partitions, p >= 1
//	+------------------------------+
//	| p times uvarint              |  place of the owner among the machines
//	+------------------------------+
//	| 8 bytes                      |                       checksum
//	+------------------------------+
//
// At most [MaxMachines] machines and [MaxPartitions] partitions.
package trie
