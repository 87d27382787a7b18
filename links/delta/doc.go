// Package delta keeps the changes since a cell was built: rows of changes, one for each batch,
// over the immutable cell. Readers get a [View], a cell and its rows at one epoch. A view is
// immutable. Its links are
//
//	links = (cell and adds) without deletes
//
// in both directions. A batch may also replace a whole forward list. A backward list has
// deleted-tags instead, see M. Najork, The Scalable Hyperlink Store (HT 2009), section 4. One
// writer at a time appends batches to a [Delta]. Readers take no lock.
//
// # Epochs and merges
//
// Each batch is the row of the next epoch. If the number of an epoch has m trailing zero bits,
// the rows of the last 2^m epochs become one. These are the m+1 newest rows. So a change is
// merged at most once for each bit of the number of epochs, and there are no more rows than such
// bits. A merge renumbers nothing, because UIDs never change.
//
// If [View.Share] exceeds [RebuildShare], a new cell should be built. [Delta.Freeze] returns a
// view. [View.Build] builds its cell while further batches come. [Delta.Rebase] installs the
// cell and drops the rows up to its epoch. Freeze keeps later rows apart, because only then can
// these be dropped. Build collects a page if it has no links in either direction. If the page
// has got links meanwhile, a row keeps its URL.
//
// # Rows
//
// A row has the same bytes in memory, on disk and in messages. Integers are little-endian. Every
// section must begin at a multiple of 8 and is padded with zeros:
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
//	| for each block: its start in the data, uint32                             |
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
//	|   + 2e + w       | if e=1    |           |           | uvarint length and |
//	|                  |           |           |           | label, if l=1      |
//	+------------------+-----------+-----------+-----------+--------------------+
//
// w is set if the list is replaced, e if there are deletes, l if there are labels. Labels have
// the format of lists.AppendLabel, or length 0 for none. Targets ascend: a varint of the first
// one's distance from the key, then uvarints of the gaps - 1.
//
// Pages, of n new pages in blocks of 16:
//
//	+------------------+------------------+
//	| n                | bytes of data    |
//	+------------------+------------------+----------------------------+
//	| for each block: its first UID, uint64                            |
//	+------------------------------------------------------------------+
//	| for each block: its start in the data, uint32                    |
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
