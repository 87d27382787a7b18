// Package lists holds the adjacency lists of a cell. For each key, an ordinal 0 ... n-1 that is
// not stored, there is one list of targets. A target is local or a ghost. A local target is the
// ordinal of a page of the same cell. A ghost is the index of another cell's page in a
// dictionary of the cell. Both kinds must ascend strictly in a list. A table is immutable and is
// one byte slice without pointers. A [Builder] makes it, and [Open] opens it. [Table.Decode]
// reads one list, and a [Scanner] reads lists in the order of the keys.
//
// The lists are coded as differences, see M. Najork, The Scalable Hyperlink Store (HT 2009),
// section 3. A list begins with the distance of its first local target from its own key, in
// zigzag form (the sign in the lowest bit). The gaps between neighbours follow. Most numbers are
// small, because most targets of a page are near it. A [Codec] turns numbers into bytes; a byte
// of the table names it.
//
// # Sizes
//
// Bytes a link with positions, without the dictionary of ghosts. The data is package linkgen's web
// of a million pages in 16 cells; 23% of its links lead to ghosts (go test -bench BytesPerLink):
//
//	                            forward  backward
//	StreamVByte                   1.34     0.91
//	Reference                     0.82     0.77
//	nybbles, as in the paper      1.36     1.00
//
// A position for each list takes 8 bits there; the paper has one for each 16 lists. If four lists
// share one, StreamVByte takes 1.30 and 0.87, and a read half as long again. If the 256 most popular
// ghosts come first, it takes 1.27 and 0.89. A test has the paper's code (nybble_test.go).
//
// # Table
//
// Integers are little-endian. The pieces begin at multiples of 8 relative to the table's first
// byte. The table itself may begin anywhere.
//
//	 0 +-----+-----+-----+-----+------+-------+-------+------+
//	   | 't'   'f'   'A'   'L' | 0x02 | codec | 0     | 0    |
//	 8 +-----------------------+------+-------+-------+------+
//	   | n, keys               | 1                           |
//	16 +-----------------------+-----------------------------+
//	   | local targets of all lists                          |
//	24 +-----------------------------------------------------+
//	   | ghost targets of all lists                          |
//	32 +-----------------------+-----------------------------+
//	   | greatest degree       | ghosts: greatest index + 1  |
//	40 +-----------------------+-----------------------------+
//	   | p, bytes of positions (a multiple of 8)             |
//	48 +-----------------------------------------------------+
//	   | d, bytes of lists (a multiple of 8)                 |
//	56 +-----+-----+-----+-----+-----------------------------+
//	   | l0    l1    l2    l3  | 0                           |
//	64 +-----+-----+-----+-----+-----------------------------+
//	   | p bytes: positions of the lists, and the end,       |
//	   |   as Parts of package ef                            |
//	   +-----------------------------------------------------+
//	   | d bytes: lists, in the order of their keys          |
//	   +-----------------------------------------------------+
//
// A table has no checksum, because the cell around it has one.
//
// # StreamVByte
//
// Positions count bytes. At least 24 zero bytes must follow the last list, because a reader may
// load more than a number's bytes. A list:
//
//	+--------------+----------------+----------------+-------------+-------------+--------------+
//	| L5 G3        | uvarint        | uvarint G - 7  | uvarint len | control     | len bytes:   |
//	| 1 byte       | L << 1 | w     | if G3 = 7      | if          | ceil((L+G)  | the numbers' |
//	|              | if L5 = 31     |                | L+G >= 4096 |   / 4) bytes| data         |
//	+--------------+----------------+----------------+-------------+-------------+--------------+
//
// L5 (the lower five bits) is min(L, 31) and G3 (the upper three) is min(G, 7) for L local
// targets and G ghosts. The numbers of the L local targets come first, then those of the G
// ghosts. For a first local target the number is the zigzag form of target - key, both as 32
// bits that wrap. For a first ghost it is the index. For all others it is the gap to the left
// neighbour, minus 1.
//
// A control byte has the codes 0 ... 3 of four numbers, the first in the lowest bits. Code i
// stands for a number of l_i nybbles; the shortest that fits is used. The data has the number's
// nybbles from the lowest on, the lower half of each byte first. The header has l0 < l1 < l2 <
// l3 <= 7, the best lengths for the first 260,000 or so numbers. If a list has a greater number,
// it is wide: w = 1, L5 = 31 for any L, and its lengths are 0, 2, 4 and 8. Codes past the last
// number are 0 and have no data. If a nybble fills the last byte, it is 0.
//
// So a run of neighbours costs two bits a link if l0 is 0. The split of codes and data is from
// Stream VByte (D. Lemire, N. Kurz, C. Rupp, Stream VByte: Faster Byte-Oriented Integer
// Compression, 2018). Its lengths are 1, 2, 3 and 4 bytes.
//
// # Reference
//
// Lists of neighbours have many common targets, because their pages share menus (K. Randall et
// al., The Link Database, DCC 2002; P. Boldi and S. Vigna, The WebGraph Framework I, WWW 2004).
// Here a list may copy from one of the 31 lists before it, its source. A source copies from none,
// because a read must need at most one other list. The encoder chooses the sources of 1,024 lists
// together (refsources.go). Unlike in WebGraph, targets are coded from the key outwards, which
// saves one long distance a list. Positions count bits, from the lowest of each byte. At least 80 zero bytes must follow the last list. A list is its counts and segments of 4,096
// targets, the last one shorter. Locals come before ghosts. Bits come in this order:
//
//	+---------+---------+  +---------+----------+----------+----------+---------+----------+
//	| gamma L | gamma G |  | gamma   | if it    | if >= 4  | the same | b bits: | numbers: |
//	|         |         |  | m, the  | copies:  | locals   | for      | below,  | codes,   |
//	|         |         |  | mode    | blocks   | left:    | ghosts   | if any  | then     |
//	|         |         |  |         |          | runs     |          | locals  | data     |
//	+---------+---------+  +---------+----------+----------+----------+---------+----------+
//	       counts                                  segment
//
// Gamma is Elias' code of v + 1: n zeros, a one, and the n bits of v + 1 below its highest. A
// distance is n - 1 zeros, a one and n nybbles with the value.
//
//   - The mode is the distance to the source in keys, 0 if the segment copies nothing, plus 32 if
//     it is wide. Only the first segment may copy, and only from a list of at most 1,024 targets.
//   - Blocks: gamma of their number, and gamma of each length. The source's targets are copied
//     and left out in turns, beginning with copied ones. The first length may be 0; the others are
//     stored minus 1. What follows the last block is copied if their number is even.
//   - Runs of four neighbours or more, among the targets left: gamma of their number, and for each
//     the distance of its first target and gamma of its length minus 4. The distance is from the
//     target two behind the run before. For the first run it is from the start. If the start is the
//     key, it is in zigzag form.
//   - The start of locals is the key, and of ghosts 0. In a later segment it is the target behind
//     the last one before, if there is one.
//   - Numbers are what is left of the locals, then of the ghosts. In a first segment, below is how
//     many of these r locals are below the key, in b bits, the length of r. They come from the
//     greatest on, each as the distance from the one before, minus 1; the first from the key. The
//     others ascend, each as the distance from the target behind the one before; the first from
//     the start.
//   - A code is two bits, 0 ... 3, for a number of l_i bits: the shortest that fits. The header has
//     l0 < l1 < l2 < l3 <= 32, the best for some of the lists; in a wide segment l3 is 32. The codes of all numbers come before their data.
//
// On crawls of documentation sites, 0.11 of 0.61 bytes a link are counts, modes and blocks, 0.08
// positions, and nearly all others numbers. Entropy codes for the numbers would save 0.03.
//
// # Labels
//
// A column of labels lies beside a table. A [LabelBuilder] makes it, and [OpenLabels] opens it.
// Some keys have one [Label] for each target. If a key has no labels, it takes no bytes.
//
//	 0 +-----+-----+-----+-----+------+-------------------------+
//	   | 't'   'f'   'L'   'C' | 0x01 | 0    0    0             |
//	 8 +-----------------------+------+-------------------------+
//	   | labels of all keys                                     |
//	16 +---------------------------+----------------------------+
//	   | bytes of keys             | bytes of positions         |
//	32 +---------------------------+----------------------------+
//	   | bytes of the dictionary   | bytes of labels            |
//	48 +---------------------------+----------------------------+
//	   | keys with labels: an Elias-Fano sequence               |
//	   +--------------------------------------------------------+
//	   | start of the labels of each, and the end: another      |
//	   +--------------------------------------------------------+
//	   | dictionary: frequent parts of anchors, for zstd        |
//	   +--------------------------------------------------------+
//	   | labels: for each key, chunks                           |
//	   +--------------------------------------------------------+
//
// A chunk has 1 to 1,024 labels, because the labels of ten million links must be readable in
// pieces:
//
//	+----------------------+-----------------+--------------------+---------------------+
//	| uvarint              | weights         | uvarint for each:  | anchors, one after  |
//	|  n << 4 | a << 2 | w |                 | length of anchor   | the other           |
//	+----------------------+-----------------+--------------------+---------------------+
//
// If w = 0, all weights are 1 and left out; 1: one weight for all; 2: one for each. If a = 0,
// all anchors are empty, and they and their lengths are left out; 1: there are anchors.
// [AppendLabel] draws the form of a weight, and the form of a single label as a triple's
// annotation.
package lists
