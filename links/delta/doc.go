// Package delta keeps what has changed since a cell was built: rows of changes, one
// for each batch, over the immutable cell. Readers get a [View], a cell and its rows
// at one epoch, which never changes; what it answers is
//
//	links = (cell and adds) without deletes
//
// in both directions, where a forward list may also be replaced as a whole. A
// backward list has deleted-tags instead, see M. Najork, The Scalable Hyperlink Store
// (HT 2009), section 4. One writer at a time appends batches to a [Delta]; readers
// take no lock.
//
// # Epochs and merges
//
// Each batch is the row of the next epoch. When the number of an epoch has m trailing
// zero bits, the rows of the last 2^m epochs become one, which are the m+1 newest
// rows. So a change is merged as often as there are bits in the number of epochs, and
// there are no more rows than that. UIDs never change, so that a merge renumbers
// nothing.
//
// When [View.Share] is over [RebuildShare] a new cell is due: [Delta.Freeze] gives a
// view, [View.Build] makes the cell of it while batches go on to come, [Delta.Rebase]
// puts it in place and drops the rows that it has taken in. Rows that came since are
// kept apart by Freeze. A page without links in both directions is collected on the
// way; where it was given links meanwhile, a row keeps its URL.
//
// # Rows
//
// A row has the same bytes in memory, on disk and on the way to another machine.
// Integers are little-endian; every section is filled up with zeros to a multiple of
// 8 bytes:
//
//	 0 +-----+-----+-----+-----+----------------------+
//	   | 't'   'f'   'D'   'R' | version, uint32: 1   |
//	 8 +-----------------------+----------------------+
//	   | first epoch                                  |
//	16 +----------------------------------------------+
//	   | last epoch                                   |
//	24 +----------------------------------------------+
//	   | bytes of the sections: forward links,        |
//	   |   backward links, pages; 0 for an empty one  |
//	48 +----------------------------------------------+
//	   | sections                                     |
//	   +----------------------------------------------+
//	   | xxhash64 of all before                       |
//	   +----------------------------------------------+
//
// Links, of n keys in blocks of 16 (the last one may have fewer):
//
//	+------------------+------------------+------------------+------------------+
//	| n                | words of filter  | adds and deletes | bytes of data    |
//	+------------------+------------------+------------------+------------------+
//	| for each block: its first key, uint64                                     |
//	+---------------------------------------------------------------------------+
//	| filter, uint64 each: word floor(h * words / 2^64) has the bits h mod 64,  |
//	|   h >> 6 mod 64, h >> 12 mod 64, h >> 18 mod 64 of each key, h its uid.Mix|
//	+---------------------------------------------------------------------------+
//	| for each block: where it begins in the data, uint32                       |
//	+---------------------------------------------------------------------------+
//	| data: for each key                                                        |
//	|   uvarint key - key before - 1    not for the first one of a block        |
//	|   uvarint length of the entry                                             |
//	|   entry                                                                   |
//	+---------------------------------------------------------------------------+
//
// An entry, of a adds and d deletes:
//
//	+------------------+-----------+-----------+-----------+--------------------+
//	| uvarint 8a + 4l  | uvarint d | adds      | deletes   | for each add:      |
//	|   + 2e + w       | where e=1 |           |           | uvarint length and |
//	|                  |           |           |           | label, where l=1   |
//	+------------------+-----------+-----------+-----------+--------------------+
//
// w says that the list is replaced, e that there are deletes, l that there are labels:
// as lists.AppendLabel writes them, of length 0 for none. Targets ascend: a varint of
// the first one's distance from the key, uvarints of the gaps - 1.
//
// Pages, of n new pages in blocks of 16:
//
//	+------------------+------------------+
//	| n                | bytes of data    |
//	+------------------+------------------+----------------------------+
//	| for each block: its first UID, uint64                            |
//	+------------------------------------------------------------------+
//	| for each block: where it begins in the data, uint32              |
//	+------------------------------------------------------------------+
//	| for each page, by h, then URL: h, uint32, the upper half of the  |
//	|   URL's xxhash64                                                 |
//	+------------------------------------------------------------------+
//	| for each page, in the same order: its place by UID, uint32       |
//	+------------------------------------------------------------------+
//	| data: for each page                                              |
//	|   uvarint UID - UID before - 1       not for a block's first one |
//	|   uvarint bytes shared with the URL before               as well |
//	|   uvarint length of the rest, and the rest                       |
//	+------------------------------------------------------------------+
//
// The file testdata/row.hex pins the format.
package delta
