// Package urls keeps the URLs of a cell: ordinal to URL and back, front-coded,
// in one slice of bytes without a pointer, which is read where it lies. (M.
// Najork, "The scalable hyperlink store", HT 2009, section 3.1, for front coding
// with an index stride; I. Witten, A. Moffat, T. Bell, "Managing gigabytes", for
// front coding.)
//
// Ordinals follow UIDs: extents (the pages of one host number) one after
// another, in an extent one sorted batch after another. A sorted batch is a run.
// [Builder] takes URLs in that order, [Open] reads what it wrote.
//
// # Blocks, leaves, nodes
//
// A block is stride URLs in a row, whatever their extents. Its first URL is in a
// node, the others in its leaf, each as the number of bytes that it shares with
// the one before it and the rest. A node is the first URLs of 16 blocks, coded
// in the same way, so that a search reads few places of memory. An ordinal leads
// to its leaf and its node by arithmetic and two offsets.
//
// # Finding
//
// The hash of a host leads to its runs, by a sorted list of hashes cut to 5 bits
// more than their number needs. In a run the node is found by halving, its block
// and the URL by going through the node and the leaf, in which only those rests
// are looked at that can decide. At most 4 long runs of an extent and at most 32 of
// hosts of one hash are found so. The other URLs are strays: they are
// found by their own hashes (xxhash64), in a list of the same kind. So hosts whose
// pages come one by one in no order, and hashes made to meet, cost about 4 bytes
// a URL and no time.
//
// # Symbols
//
// With [Options].Symbols the rests are written as codes, of up
// to 12 bits, of up to 4,096 byte sequences of 1 to 8 bytes that are frequent in a
// sample of the table. Leaves compressed one by one with zstd and a dictionary
// made from samples take about as much memory, but 10 times the time and more, as
// a leaf must be decoded to read one of its URLs: see BenchmarkZstdBlocks. Codes
// are decoded only for what is in the result.
//
// # Format
//
// Fixed integers are little-endian, "uvarint" is that of encoding/binary, of 28
// bits at most. A unit is a byte, or a code where there are symbols.
//
//	+------------------------------+
//	| 't' 'f' 'U' 'R'  0x01        |  magic, version
//	| uint8  log2 of the stride    |  0 to 7
//	| uint8  bits of a code        |  0: no symbols; 8 to 16
//	| uint8  bits of a host's key  |
//	| uint8  bits of a stray's key |
//	| 3 bytes of zero              |
//	| uint32 n                     |  URLs
//	| uint64 size                  |  of the pieces
//	+------------------------------+
//	| Elias-Fano sequence          |  offset of each piece, and of their end
//	| Elias-Fano sequence          |  first ordinal of each stretch, and n
//	+------------------------------+
//	| Elias-Fano sequence          |  keys of hosts
//	| packed array                 |  stretch of each key
//	+------------------------------+
//	| Elias-Fano sequence          |  keys of strays
//	| packed array                 |  ordinal of each key
//	+------------------------------+
//	| only where there are symbols:|
//	|   uint64 count               |  256 or more; the first 256 are the bytes
//	|   count times uint8          |  length of each, filled up to 8 bytes
//	|   count times 8 bytes        |  each filled up with zeros
//	+------------------------------+
//	| pieces                       |  node, its up to 16 leaves, next node, ...
//	| 8 bytes of zero              |
//	+------------------------------+
//
// A key is the upper bits of a hash, mixed. A stretch is a run, or what is
// between two runs that are searched. A node:
//
//	+------------------------------+
//	| uvarint u, u bytes           |  first URL, as bytes always
//	| what a leaf has              |  first URLs of the other blocks
//	+------------------------------+
//
// A leaf:
//
//	+------------------------------+
//	| uvarint h                    |
//	| h bytes of headers:          |
//	|   uvarint shared             |  bytes in common with the URL before
//	|   uvarint units              |  that follow
//	+------------------------------+
//	| units of all URLs            |  codes of w bits from the lowest bit on,
//	+------------------------------+  filled up to a byte
//
// The five pages of the paper's Figure 3:
//
//	node  17 "http://www.letters.org/" 00
//	leaf  08  17 04  1b 01  19 02  19 03  "alep" "h" "if" "pha"
//
// # Damage
//
// Open verifies the index and the symbols. Pieces are not read by it: every
// access checks what it reads, stops at damage, and may then return wrong URLs.
// Whoever keeps tables in files keeps checksums beside them; [Table.Check]
// verifies all.
package urls
