// What the text index of a node is, and how it stays right.

// Package textsearch is the text index of a node: segments of package textindex, made from rows, current by the change
// feed, and spread over the members of a cluster. [Index] is the index as one machine answers for it.
//
// # Documents
//
// A document is a pair of an indexed predicate and a literal that is its object, in any graph. Numbers,
// booleans and dates are no documents. The indexed predicates are triples of the system graph (settings.go),
// so all members have them, and backups do.
//
// # How it stays right
//
// A state of the index belongs to a position of the change feed. A search requests the end of the feed
// first, and waits until the state has reached it: so it sees every change that was acknowledged before it
// began, and a writer pays nothing. Changes are read for the searches that need them, or once a second
// (follow.go). An added triple adds its document, if that is new. A deleted triple deletes its document if
// no row has the pair any more; this is looked up in the rows, so changes may be applied again. A large bulk
// load makes the predicates that it concerns be built again, and so does a cleared graph if other graphs have them.
//
//	rows -- build.go --> segments --> state at a position --> search.go
//	feed -- follow.go --> small segments, deletions --^
//	                      merge.go makes few segments of many
//
// # In a cluster
//
// The hash of a literal selects one of 16 partitions. A view ranks the members for each partition
// (place.go), and as many hold it as a triple has copies. A search runs in two rounds, each one message to each
// member that answers for some partitions (route.go, messages.go): the first adds up the statistics of the query's
// words, the second searches with their sum. So scores are those of one index. If a member does not answer, its
// partitions go to another holder, for 10 s at most. A lone node has one partition.
//
// The ranges of POS would divide the documents, too. But they split and move with all data, and the owner of a lost
// range would build its index anew. By hash and rank the next holder has it already.
//
// # Some graphs only
//
// The index has no graphs. A search for a user who may read some graphs has a reader of these: hits without a row there
// are left out, and scores have fixed statistics (visible.go).
//
// # Candidates of filters
//
// If a predicate has trigrams (settings.go), the index finds the literals that may contain a text (candidates.go). They
// are a superset of those in the rows of a reader, also if literals are deleted meanwhile.
//
// # Files
//
//	text/index.json   the position, the settings and the list of segments
//	text/N.text       a segment: uint64 length of its body, body, documents
//
// They are a cache. If they are removed under a running node, they are written again. If one is missing at the start, or damaged, or the feed does not reach back to their position, the index is
// built from rows.
package textsearch
