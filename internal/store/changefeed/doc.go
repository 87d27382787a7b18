// The format of the log of changes.

// Package changefeed keeps the log of committed changes of a lone store, and reads it as its
// [feed.Source].
//
// The rows of the log are in the same Pebble batch as the rows of triples that they describe.
// Therefore the log has each committed change once, whenever the process ends, and needs no sync of
// its own. It is a part of the local state (see package keyspace):
//
//	changes/log/E N P    changes of one commit, or a part of them
//	changes/block/E N    uvarint bytes, uvarint Unix ms of the last row: a block of the log
//	changes/begin        uvarint E, uvarint N, uvarint Unix ms, byte reason: what is trimmed
//	changes/source       8 bytes source of positions, 16 bytes UUID that it was made for
//
// E is an epoch and N a sequence, in 8 bytes each. Together they are the position of the row's last
// change. P, in 4 bytes, counts the rows of one position from 0. A row has about rowBytes bytes, so a
// large commit has many rows.
//
// # Rows
//
//	+----+-------+----------------+--------------------------------------+
//	| 01 | flags | uvarint ms     | changes, in the order of their commit|
//	+----+-------+----------------+--------------------------------------+
//
// Bit 0 of flags is set if the next row continues the last position. ms is the time of the commit
// in Unix milliseconds. A change is
//
//	kind    1 byte: bits 0-2 the feed.Kind, and the flags below
//	  +08   uvarint: its sequence minus that of the change before in the row, or minus 0
//	  +10   long terms follow the key
//	  +20   of Annotate: the annotation was removed
//	  +40   1 byte: the depth, see feed.Change, if it is not 0
//	  +80   of Load and Clear: their predicates are at the end
//	key     uvarint n, uvarint size, bytes: the first n bytes of the key in SPO are those of
//	        the last key in the row. A Load or a Clear has no key.
//	long    uvarint size and bytes, with flag 10: a value with stamp 0, see triple.AppendValue
//	Annotate  uvarint size and application ID; if not removed, uvarint size and data
//	Load      uvarint epoch, uvarint sequence of its rows, uvarint size and ID, uvarint New + 1
//	Clear     1 byte: bit 0 all, bit 1 default graph; uvarint count of named graphs, and for each
//	          byte kind, uvarint size, bytes of its name
//	predicates  with flag 80: uvarint count, and for each uvarint size, bytes of its IRI, uvarint
//	          rows; see feed.Predicates
//
// The keys of a request are sorted. Therefore most of a key is equal to the one before.
//
// # Positions
//
// The sequencer of a lone store is machine 0. A position is the stamp of a request, so all changes
// of a request have one. A bulk load takes a stamp when it begins and another one when it is
// published: its rows have the first, and its position is the second.
//
// # Retention
//
// Commits trim the oldest blocks by range deletions, see [Retention]. They wait for no consumer.
// The rows changes/block tell an opened store the sizes of blocks, so that it reads only the newest
// block. If a consumer needs a trimmed change, it gets a [feed.GoneError].
package changefeed
