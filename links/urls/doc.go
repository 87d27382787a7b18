// Package urls keeps the URLs of a cell: ordinal to URL and back. A table is front-coded, in one
// slice of bytes without a pointer, and is read in place. (M. Najork, "The scalable hyperlink
// store", HT 2009, section 3.1, for front coding with an index stride; I. Witten, A. Moffat, T.
// Bell, "Managing gigabytes", for front coding.)
//
// Ordinals follow UIDs: extents (the pages of one host number) one after another, and in an
// extent one sorted batch after another. A sorted batch is a run. [Builder] takes URLs, which
// must come in this order. [Open] reads the result.
//
// # Blocks, leaves, nodes
//
// A block is stride URLs in a row, of one or several extents. Its first URL is in a node, the
// others in its leaf. A URL is stored as the number of bytes shared with the one before it, and
// the rest. A node is the first URLs of 16 blocks in the same code, because a search must read
// few places of memory. The leaf and the node of an ordinal follow from arithmetic and two
// offsets.
//
// # Finding
//
// The hash of a host leads to its runs, by a sorted list of hashes. Each is cut to 5 bits more
// than their number needs. In a run a binary search finds the node. A scan of the node finds the
// block, and a scan of the leaf finds the URL. A scan reads a rest only if it may decide. This
// way reaches at most 4 long runs of an extent, and at most 32 runs if several hosts have the
// same key. All other URLs are strays. Their own hashes (xxhash64) lead to them, in a list of the
// same kind. So they cost about 4 bytes a URL and no time. A host has strays if its pages come
// one by one in no order, or if hashes are made to collide.
//
// # Format
//
// Fixed integers are little-endian. A "uvarint" is the one of encoding/binary, of 28 bits at
// most.
//
//	+------------------------------+
//	| 't' 'f' 'U' 'R'  0x01        |  magic, version
//	| uint8  log2 of the stride    |  0 to 7
//	| uint8  0                     |
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
//	| pieces                       |  node, its up to 16 leaves, next node, ...
//	| 8 bytes of zero              |
//	+------------------------------+
//
// A key is the upper bits of a hash, mixed. A stretch is a searched run, or the ordinals
// between two searched runs. A node:
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
//	|   uvarint added              |  bytes that follow
//	+------------------------------+
//	| added bytes of all URLs      |
//	+------------------------------+
//
// The five pages of the paper's Figure 3:
//
//	node  17 "http://www.letters.org/" 00
//	leaf  08  17 04  1b 01  19 02  19 03  "alep" "h" "if" "pha"
//
// # Damage
//
// Open verifies the index. It does not read pieces, so every access checks its
// input and stops at damage. It may then return wrong URLs. If tables are kept in files,
// checksums must be kept beside them. [Table.Check] verifies all.
package urls
