// Package cell keeps the pages of a range of slots and their links in one slice of
// bytes: immutable, checksummed, without a pointer, in memory as in its file. A
// [Builder] makes the bytes, [Open] makes them answer: UIDs to ordinals and back,
// URLs, forward and backward links with UIDs, degrees, labels. A cell keeps what a
// store cell of the Scalable Hyperlink Store does (M. Najork, HT 2009, section 3),
// but for UIDs that need not be dense, and for links to other cells.
//
// # Words
//
// The pages of a cell have ordinals: 0, 1, 2 ... in the order of their UIDs. A target
// of the same cell is a local, its ordinal; any other one is a ghost, its place in
// the sorted dictionary of such targets, of which each direction has one.
//
// # Format
//
// Integers are little-endian; every section begins at a multiple of 8 and is filled
// up with zeros:
//
//	  0 +-----+-----+-----+-----+---------+-------+-------+------+
//	    | 't'   'f'   'C'   'L' | version | codec | flags | 0    |   version 2, flags 0
//	  8 +-----------------------+---------+-------+-------+------+
//	    | least UID of the range                                 |
//	 16 +--------------------------------------------------------+
//	    | greatest UID of the range                              |
//	 24 +--------------------------------------------------------+
//	    | epoch                                                  |
//	 32 +---------------------------+----------------------------+
//	    | pages                     | m, bytes of metadata       |
//	 40 +---------------------------+----------------------------+
//	    | forward links                                          |
//	 48 +--------------------------------------------------------+
//	    | backward links                                         |
//	 56 +---------------------------+----------------------------+
//	    | greatest forward degree   | greatest backward degree   |
//	 64 +---------------------------+----------------------------+
//	    | 8 times, 24 bytes: where the section begins, its       |
//	    |   length, xxhash64 of it with its zeros                |
//	256 +--------------------------------------------------------+
//	    | bytes of the whole cell                                |
//	264 +--------------------------------------------------------+
//	    | xxhash64 of bytes 0 ... 263 and of the metadata with   |
//	    |   its zeros                                            |
//	272 +--------------------------------------------------------+
//	    | m bytes, filled up: the caller's metadata              |
//	    +--------------------------------------------------------+
//	    | sections                                               |
//	    +--------------------------------------------------------+
//
// So every bit of a cell is under a checksum that Open compares. The codec's lower four
// bits are that of the forward lists, its upper ones that of the backward lists, or 0
// where it is the same. The sections, in this order:
//
//	page numbers      below
//	URLs              package urls, by ordinal
//	forward lists     package lists, by ordinal
//	backward lists    package lists
//	forward ghosts    below
//	backward ghosts   below
//	labels            package lists, a column beside the forward lists; may be empty
//	sketches          what Options.Sketches gave; may be empty
//
// # Page numbers
//
// UIDs are packed: bits that are 0 in all of them are left out, which keeps their
// order.
//
//	+-----------------+--------------------+--------------------+
//	| slot - least    | host, h bits       | page, p bits       |
//	+-----------------+--------------------+--------------------+
//
// Pages whose packed UIDs are consecutive, within one slot, are a run. The section is
// the packing and two Elias-Fano sequences (package ef):
//
//	+------------+-----+-----+---------+----------------------+------------------------+
//	| least slot | h   | p   | 0       | packed UID of each   | first ordinal of each  |
//	| uint16     | u8  | u8  | 4 bytes | run's first page     | run, number of pages   |
//	+------------+-----+-----+---------+----------------------+------------------------+
//
// A host whose pages are all there is one run, and the hosts of a slot that have one
// page each are one, too. Open makes a table of the runs, at most two bytes a page or
// 64 KiB, for quick answers; where runs are shorter than that allows, the sequences
// answer.
//
// # Ghosts
//
// A packing, by the ghosts' own bits, and their packed UIDs as a sequence of
// package pef. They are in the order of their UIDs and not by popularity, so that a list
// comes out ascending without a sort: ghosts below the range, locals, ghosts above.
// With the 256 most popular ghosts first (lists.PopularFirst), and a merge at each
// reading, the lists of the generated web of a million pages in 16 cells would take
// 1.29 bytes a link instead of 1.34 forward and 0.90 as before backward; with all of
// them by popularity, and a sort, 1.26 and 0.93.
//
// The file testdata/letters.hex pins the format.
package cell
