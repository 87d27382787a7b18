// The format of archives.

// Package backup writes archives of a store and its change feed, and restores them. It needs only
// [store.Reader] and [feed.Source], so a lone store and a cluster have one implementation.
//
// # A full archive
//
// [Full] writes the rows of a store while it changes. It takes the position P0 of the feed, writes all
// rows in order SPO with their annotations, and then the feed from P0 to its end P1. Each row was read
// at some moment between P0 and P1. A change of the feed sets the whole state of its triple or
// annotation. Therefore the rows, changed by the feed, are the state at P1, whatever happened
// meanwhile. P1 is a consistent end ([feed.Request]): with a change it has every change that was
// acknowledged before that one was requested. No snapshot of many machines is necessary, and a machine may fail during the backup: the
// read then continues behind its last row.
//
// A lone store also has archives of its files, see package store/backup. They are of one moment, and
// their header has its position. The first archive of a chain may be of either form.
//
// # Increments and chains
//
// [Increment] writes the feed from the end of an earlier archive. A chain is a full archive and
// increments, where each begins at the end of the one before. [Restore] and [RestoreInto] apply a chain up to
// its end, or up to a position or a time.
//
// # Bulk loads
//
// The feed has a load as one change. Its rows follow it in the archive: those that have the load's
// stamp when they are read. A row that was deleted before is missing. Its delete is in the archive,
// too, because the archive ends behind the last row that was read. If a restore ends between the load
// and the delete, [restorer] concludes from the delete that the triple existed, and adds it. If a second
// load is in the archive, it may have loaded the same triple again. Then it is unknown which triples
// existed between both, and a restore to there is rejected. An archive ends when no load was published
// while the rows of the earlier ones were read.
//
// A cluster stamps some adds that change nothing, and a row of a load then has the add's stamp. So the
// rows of the load in the archive are all there only together with the changes up to its end, and a
// restore to a point between the load and that end is rejected. Two such rows need care. An annotation of
// one may come before its add ([pending]), and the annotations that the load made are read although the
// row has another stamp.
//
// # Bytes
//
// An archive is a tar of these entries, in this order:
//
//	trefoil-backup      header, as JSON
//	rows/00000001       chunks of rows, ascending in SPO; only of a full archive
//	changes/00000002    chunks of the feed
//	load/00000003       chunks of rows of the load that ends the chunk before, ascending in SPO
//	changes/00000004
//	trefoil-trailer     trailer, as JSON
//
// Chunks are numbered from 1 in eight digits. Their entry is a zstd frame with a checksum. Its content
// has about chunkBytes bytes and is a sequence of pieces:
//
//	+----------------------------+---------------+-------------+------------------------+
//	| uvarint size, position text| uvarint epoch | 8 sequencer | uvarint size, and a row|
//	+----------------------------+---------------+-------------+------------------------+
//
// A row has the format of package changefeed: the time, and changes with keys that are cut by common
// prefixes. All its changes have the epoch and the sequencer of the piece. A chunk of rows has an Add
// for each triple and an Annotate for each annotation, without epoch, sequencer and time. The position
// is that of the feed's batch. It is empty unless the row has a Load, because a load's stamp does not
// show its place in the feed.
//
// The trailer has the position of the end, the number of triples, annotations, changes and loads, and
// the SHA-256 of all entries before it: of each the name, a zero byte, the size in 8 bytes, and the
// data. Thus an archive that was cut, changed or put together from parts is rejected.
package backup
