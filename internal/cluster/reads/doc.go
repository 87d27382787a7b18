// Package reads answers ranges, matches, counts and look-ups whose rows are spread over the
// machines of a cluster. It has two sides: an owner reads its own store for others, and the
// coordinator, which may be any member, puts their answers together in a [Snapshot].
//
// # The route of a read
//
//	Snapshot -> scan, lookup, count, survey   coordinator: cut the range by owner (attempt.go)
//	  -> feed: local, called or remote        one for each piece (feed.go)
//	    -> hold, settle, pack                 owner: snapshot, lease, committed rows (owner.go)
//	  -> degraded, gather, sole_holder        if an owner is down: the same rows from others
//
// The steps are:
//
//  1. The coordinator cuts the range into pieces at each change of owner, under its view.
//  2. The owner of a piece refuses another epoch, a missing lease, and a range of another
//     owner. Otherwise it takes a snapshot of its store and checks its lease.
//  3. It learns from the sequencers which operations in the range are committed, and at which ticks. It sends the
//     rows without the others: what was there before them. Before the last frame it checks epoch
//     and lease again.
//  4. After a refusal, a broken connection or a change of the view, the coordinator plans again,
//     from the last row that it returned.
//
// An answer is complete, or it ends with an error. It is never short.
//
// # Consistency
//
// The rows of a [Snapshot] are those of one tick (package ticks), which the coordinator requests when the first
// read begins. So all answers have every operation that was acknowledged before that, and no batch that was
// committed later. Each owner takes a snapshot of its store, and takes out of its rows the batches that are not
// committed and those of later ticks.
//
// An owner cannot do so if another view was adopted since the tick was issued, if too much has changed, or if it has not
// kept what was overwritten. Then the snapshot goes on without a tick: each piece of an answer is as of some moment
// after the call began, and has every operation that was acknowledged before the call. The same holds if the
// oracle is silent, of two members, and for annotations. If a row exists throughout, it comes exactly once.
//
// A query must not mix states. So its snapshot is that of [Snapshot.OneState]: it waits for the oracle, and it fails
// in place of going on without a tick, if it has returned rows. The query begins again then.
//
// An answer has all of a bulk load or nothing of it. While its tables are ingested, reads wait.
// If a read has returned rows before, it ends with store.ErrSnapshotTooOld, because the rows after
// them would have the load.
//
// # Owners that are down
//
// If the owner of a segment is down, its rows come from another order, provided that the range
// determines enough terms: see degraded.go. Then [Snapshot.Degraded] returns true. If no other
// order has the rows, the error is store.ErrUnavailable. If rows may be lost for good, it is
// store.ErrLost, unless [Snapshot.IncludeLost] accepts what is left.
//
// # Requests and answers
//
// Few rows take one call (reads/rows): one round trip without a goroutine. More rows come in
// streams (reads/scan), ahead of their reader. A query plan needs estimates and samples of many
// patterns: that is one call to each owner (reads/survey).
//
// A request (reads/scan, reads/rows, reads/count, reads/skip) is
//
//	+--------------+-------+- - - -+---------------+----------------+- - - - -+----------+--------+
//	| epoch uvarint| flags | tick  | limit uvarint | budget uvarint | filter  | n uvarint| ranges |
//	+--------------+-------+- - - -+---------------+----------------+- - - - -+----------+--------+
//	 flags: bit 0 reverse, bit 1 a filter follows, bit 2 replicas, bit 3 wait,
//	        bit 4 a tick follows, its number as a uvarint
//	 filter: byte (bit 0-3: the term at that position is bound, bit 4: default graph
//	         only), then length uvarint and key form of each bound term
//	 range: shared uvarint, length uvarint, bytes    of Lo; shared with the Lo before
//	        0, or shared+1 uvarint, length uvarint, bytes   of Hi; shared with Lo; 0 is no Hi
//
// The limit counts rows, the budget bytes of frames; 0 is none. Answers of scan,
// count and skip are frames, and their first byte is the kind:
//
//	00 rows:  each is
//	          shared<<2 | same value<<1 | other range, uvarint
//	          [how many ranges further, uvarint], length uvarint and rest of the key,
//	          [length uvarint and value]; the first row of a frame shares with nothing
//	01 end:   all is sent, or as many rows as the limit has
//	02 more:  the budget is used: index of the range uvarint, last key
//	03 beat:  nothing to send yet
//	04 number: uvarint, the count; the end. Of skip also the key of the last skipped
//	           row, if the limit was reached
//	05 part:  the beginning of a frame of rows that is too long for one message
//	06 whole: the rest of it
//
// An answer without its end is broken. That of rows is 01, or 02 with the index of
// the range and the length and the bytes of the last key; then a frame of rows, or
// nothing. It ends where so many rows were looked at that few pass the filter, too.
//
// A survey is
//
//	+--------------+------------+---------------+- - - - -+----------+-----------+
//	| epoch uvarint| filter bool| limit uvarint | filter  | n uvarint| questions |
//	+--------------+------------+---------------+- - - - -+----------+-----------+
//	 question: places uvarint, least rows for samples uvarint, n uvarint, ranges
//
// Its answer has for each question a byte, 1 where it is exact, the rows uvarint, and
// the samples: n uvarint, then length uvarint, key and rows uvarint of each.
package reads
