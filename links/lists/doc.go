// Package lists holds the adjacency lists of a cell: for each key, an ordinal
// 0 ... n-1 that is not stored, one list of targets. A target is local, the
// ordinal of a page of the same cell, or a ghost, the index of a page of
// another cell in a dictionary that the cell keeps. Both kinds ascend strictly
// in a list. A table is immutable, lies in one slice of bytes without a
// pointer, and is built by a [Builder], opened by [Open], read at random by
// [Table.Decode] and in order of the keys by a [Scanner].
//
// The lists are coded as differences, see M. Najork, The Scalable Hyperlink
// Store (HT 2009), section 3: a list begins with the distance of its first
// local target from its own key, in zigzag form (the sign in the lowest bit),
// followed by the gaps between neighbours. Targets of a page are mostly near to
// it, so that most numbers are small. How numbers become bytes is the affair of
// a [Codec], named by a byte of the table.
//
// # Sizes
//
// Bytes a link with positions, without the dictionary of ghosts, of package
// gen's web of a million pages in 16 cells, 23% of its links to ghosts
// (go test -bench BytesPerLink):
//
//	                            forward  backward
//	StreamVByte, k = 1            1.34     0.91
//	StreamVByte, k = 4            1.30     0.87
//	Reference                     0.93     0.89
//	Nybble, k = 1                 1.41     1.05
//	Nybble, k = 16 (the paper)    1.36     1.00
//
// A position for each list takes 8 bits there, and k = 4 reads half as slowly
// again: 1 is the default. With the 256 most popular ghosts first, see
// [PopularFirst], the first line is 1.27 and 0.89.
//
// # Table
//
// Integers are little-endian. Nothing is aligned but relative to the table's
// first byte, and the pieces begin at multiples of 8 there.
//
//	 0 +-----+-----+-----+-----+------+-------+-------+------+
//	   | 't'   'f'   'A'   'L' | 0x02 | codec | flags | 0    |
//	 8 +-----------------------+------+-------+-------+------+
//	   | n, keys               | stride k                    |
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
//	   | p bytes: positions of the lists 0, k, 2k ..., and   |
//	   |   the end, as an Elias-Fano sequence (package pef)  |
//	   +-----------------------------------------------------+
//	   | d bytes: lists, in the order of their keys          |
//	   +-----------------------------------------------------+
//
// Bit 0 of the flags says that no list has ghost targets. A table has no
// checksum: the cell around it has one.
//
// # StreamVByte
//
// Positions count bytes. After the last list come at least 24 zero bytes, so
// that a reader may load more than a number has. A list:
//
//	+--------------+----------------+----------------+-------------+-------------+--------------+
//	| L5 G3        | uvarint        | uvarint G - 7  | uvarint len | control     | len bytes:   |
//	| 1 byte       | L << 1 | w     | where G3 = 7   | where       | ceil((L+G)  | the numbers' |
//	|              | where L5 = 31  |                | L+G >= 4096 |   / 4) bytes| data         |
//	+--------------+----------------+----------------+-------------+-------------+--------------+
//
// L5 (the lower five bits) is min(L, 31) and G3 (the upper three) min(G, 7) for
// L local and G ghost targets. The numbers are those of the L local targets and
// then those of the G ghosts: for a first local target the zigzag form of target
// - key, both as 32 bits that wrap; for a first ghost its index; for all others
// the gap to their left neighbour, minus 1.
//
// A control byte has the codes 0 ... 3 of four numbers, the first in the lowest
// bits. Code i stands for a number of l_i nybbles, the shortest that fits; the
// data has its nybbles from the lowest on, the lower half of each byte first. The
// header has l0 < l1 < l2 < l3 <= 7, the best for the first 260,000 or so numbers. A
// list with a greater number is wide: w = 1, L5 = 31 for any L, and its lengths
// are 0, 2, 4 and 8. Codes past the last number are 0 and have no data; a nybble
// that fills the last byte is 0.
//
// So a run of neighbours costs two bits a link where l0 is 0. The split of codes
// and data is Stream VByte's (D. Lemire, N. Kurz, C. Rupp, Stream VByte: Faster
// Byte-Oriented Integer Compression, 2018), whose lengths are 1, 2, 3 and 4
// bytes.
//
// # Reference
//
// Lists of neighbours have many targets in common: menus, the lists that lead
// to one another (K. Randall et al., The Link Database, DCC 2002; P. Boldi and
// S. Vigna, The WebGraph Framework I, WWW 2004). Here a list may copy from one of
// the seven lists before it, its source, which may copy in turn, so that reading
// one reads three others at most. Positions count bytes, k = 1, and the zero
// bytes at the end are those of StreamVByte. A list:
//
//	+-----------------------+----------------+-------------------+---------+---------+------+
//	| L5 G3, uvarints where | m5 r3          | uvarint mask - 31 | mask    | control | data |
//	| the counts do not fit | 1 byte, where  | where m5 = 31     | bytes   |         |      |
//	| them                  | 4<= L+G < 4096 |                   |         |         |      |
//	+-----------------------+----------------+-------------------+---------+---------+------+
//
// r3 (the lower three bits) is how many keys before this one its source is; 0 is
// none, then m5 = 0. Bit i of the mask, the lowest of its first byte being the
// first, says that target i of the source (locals, then ghosts) is a target of
// this list too. The mask's last bytes are left out where all their bits are 1
// or behind the last target: m5 is min(mask, 31) for the bytes that are there.
// Control and data are as in StreamVByte, for the targets that are not copied. A
// list of 4,096 targets or more is as in StreamVByte, and is nobody's source.
//
// # Nybble
//
// The paper's variable nybbles, with differences as they are (not minus 1).
// Positions count nybbles of payload. A list is the numbers L and, unless bit 0
// of the flags is set, G; then the zigzag form of the first local target and
// the gaps between the others; then the first ghost and the gaps.
// A number is its nybbles from the highest that is not zero on, at least one,
// in 64-bit words:
//
//	bit 63                                      16 15   12 11                   0
//	+-----------------------------------------------+--------+------------------+
//	| 12 nybbles of payload, the first one highest  | unused | 12 bits, a bit   |
//	|                                               | 0...12 | for each nybble  |
//	+-----------------------------------------------+--------+------------------+
//
// The bit of a nybble is 1 where it is the last of its number, and the first
// nybble's bit is the highest. Numbers go on from word to word; only the last
// word has unused nybbles. The word order and bit order are ours: the paper
// leaves them open.
//
// # Labels
//
// A column of labels lies beside a table, made by a [LabelBuilder] and opened by
// [OpenLabels]: for some keys, one [Label] for each target. A key without labels
// takes no byte of it.
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
//	   | where the labels of each begin, and the end: another   |
//	   +--------------------------------------------------------+
//	   | dictionary: what anchors often contain, for zstd       |
//	   +--------------------------------------------------------+
//	   | labels: for each key, chunks                           |
//	   +--------------------------------------------------------+
//
// A chunk has 1 to 1,024 labels, so that those of ten million links are read in
// pieces:
//
//	+----------------------+-----------------+--------------------+---------------------+
//	| uvarint              | weights         | uvarint for each:  | anchors, one after  |
//	|  n << 4 | a << 2 | w |                 | length of anchor   | the other           |
//	+----------------------+-----------------+--------------------+---------------------+
//
// w = 0: all weights are 1 and not there; 1: one weight for all; 2: one for each.
// a = 0: all anchors are empty, and they and their lengths are not there; 1:
// plain; 2: uvarint length and a zstd frame without its first four bytes, which
// are the same in all frames. [AppendLabel] draws the form of a weight, and that
// of a single label where it is the annotation of a triple.
package lists
