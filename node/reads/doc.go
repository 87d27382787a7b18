// Package reads answers ranges, matches, counts and look-ups where the rows are
// spread over the machines of a cluster: the owner's side, which reads its own
// store for others, and the coordinator's, a [Snapshot], which any member makes.
//
// # Who is asked
//
// A range is cut where the owner of its segments changes (see plan). Each piece is
// read by its owner under the view that the plan was made of: the owner refuses
// a request of another epoch, without a lease, or for a range that is not its
// own. It takes a snapshot of its store, checks its lease, waits until all
// operations in the range are settled, and sends the rows; before it says that
// they are all, it checks epoch and lease once more.
//
// An answer is complete or it ends with an error, never short. After a refusal, a
// broken connection or a change of the view the coordinator plans anew from
// behind the last row that it gave out.
//
// # What an answer is of
//
// There is no snapshot across machines. Each piece of an answer is as it was at
// some moment after the call began, and every operation that was acknowledged
// before the call shows. Rows that are there throughout come exactly once.
//
// A bulk load shows in all of an answer or in none of it. While its tables are
// taken in (phase ingest) reads wait; a read that has given out rows before and
// would go on behind its publication ends with node.ErrUnavailable.
//
// # Dead owners
//
// While the machine that had a segment is dead and its rows are not rebuilt, what
// a piece of it holds is collected from another order, where the range tells
// enough of the triples for that: see degraded.go. [Snapshot.Degraded] says that
// it happened. Where no other order can tell, the answer is node.ErrUnavailable;
// where rows may be gone for good it is node.ErrLost, unless
// [Snapshot.IncludeLost] asks for what is left.
//
// # Requests and answers
//
// Few rows are asked for by one call (reads/rows), which is one round trip without
// a goroutine; what is more than its answer comes by streams (reads/scan), ahead of
// their reader. What a plan wants to know before it reads is one call to each owner
// for all patterns (reads/survey): about how many rows there are, and samples.
//
// A request (reads/scan, reads/rows, reads/count) is
//
//	+--------------+-------+---------------+----------------+- - - - -+----------+--------+
//	| epoch uvarint| flags | limit uvarint | budget uvarint | filter  | n uvarint| ranges |
//	+--------------+-------+---------------+----------------+- - - - -+----------+--------+
//	 flags: bit 0 reverse, bit 1 a filter follows
//	 filter: byte (bit 0-3: the term at that position is bound, bit 4: default graph
//	         only), then length uvarint and key form of each bound term
//	 range: shared uvarint, length uvarint, bytes    of Lo; shared with the Lo before
//	        0, or shared+1 uvarint, length uvarint, bytes   of Hi; shared with Lo; 0 is no Hi
//
// The limit counts rows, the budget bytes of frames; 0 is none. Answers of scan
// and count are frames, of which the first byte tells the kind:
//
//	00 rows:  each is
//	          shared<<2 | same value<<1 | other range, uvarint
//	          [how many ranges further, uvarint], length uvarint and rest of the key,
//	          [length uvarint and value]; the first row of a frame shares with nothing
//	01 end:   all is sent, or as many rows as the limit has
//	02 more:  the budget is used: index of the range uvarint, last key
//	03 beat:  nothing to send yet
//	04 number: uvarint, the count; the end
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
