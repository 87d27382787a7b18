// Package cell keeps the pages of a range of slots and their links in one byte slice. The slice
// is immutable, checksummed and free of pointers; it is the same in memory and in its file. A
// [Builder] makes the bytes. [Open] serves them: UIDs to ordinals and back, URLs, forward and
// backward links with UIDs, degrees, labels. A cell does the work of a store cell of the
// Scalable Hyperlink Store (M. Najork, HT 2009, section 3). Unlike there, UIDs may have gaps,
// and links may lead to other cells.
//
// # Words
//
// The pages of a cell have ordinals: 0, 1, 2 ... in the order of their UIDs. If a target is a
// page of the same cell, the list keeps a local: its ordinal. Otherwise it keeps a ghost: the
// target's index in the sorted dictionary of such targets. Each direction has its own
// dictionary.
//
// # Format
//
// Integers are little-endian. Every section must begin at a multiple of 8 and is padded with
// zeros:
//
//	  0 +-----+-----+-----+-----+---------+-------+-------+------+
//	    | 't'   'f'   'C'   'L' | version | codec | flags | 0    |   version 3, flags 0
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
//	    | 8 times, 24 bytes: start of the section, its           |
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
// Open compares every checksum, and every bit of a cell is under one. The codec's lower four
// bits are the codec of the forward lists. The upper four are the codec of the backward lists,
// or 0 if it is the same. The sections, in this order:
//
//	page numbers      below
//	URLs              package urls, by ordinal
//	forward lists     package lists, by ordinal
//	backward lists    package lists
//	forward ghosts    below
//	backward ghosts   below
//	labels            package lists, a column beside the forward lists; may be empty
//	sketches          the result of Options.Sketches; may be empty
//
// # Page numbers
//
// UIDs are packed: a bit is left out if it is 0 in all of them. Packing keeps their order.
//
//	+-----------------+--------------------+--------------------+
//	| slot - least    | host, h bits       | page, p bits       |
//	+-----------------+--------------------+--------------------+
//
// Pages are a run if their packed UIDs are consecutive within one slot. The section is the
// packing and two Elias-Fano sequences (package ef):
//
//	+------------+-----+-----+---------+----------------------+------------------------+
//	| least slot | h   | p   | 0       | packed UID of each   | first ordinal of each  |
//	| uint16     | u8  | u8  | 4 bytes | run's first page     | run, number of pages   |
//	+------------+-----+-----+---------+----------------------+------------------------+
//
// If all pages of a host are in the cell, the host is one run. The hosts of a slot with one page
// each are one run, too. Open makes a table of the runs for quick answers, at most two bytes a
// page or 64 KiB. If runs are too short for such a table, the sequences answer.
//
// # Ghosts
//
// The section is a packing, by the ghosts' own bits, and their packed UIDs as Parts of
// package ef. Ghosts are ordered by UID and not by popularity, because a list must come out
// ascending without a sort: ghosts below the range, locals, ghosts above. If the 256 most
// popular ghosts came first with a merge at each read, lists would be
// smaller: on the generated web of a million pages in 16 cells, 1.29 bytes a link instead of
// 1.34 forward, and still 0.90 backward. If all ghosts were by popularity, with a sort, they
// would take 1.26 and 0.93.
//
// The file testdata/letters.hex pins the format.
package cell
