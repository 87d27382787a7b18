// What read counts are, and what they promise.

// Package readcount counts what clients read, for subscriptions of kind read.
//
// # The route of a count
//
//	request -> Counter.Observe -> reader: scans of patterns, with their rows
//	                                 | when the reader is closed, or holds many
//	           table of the machine: (caller, pattern) -> reads, rows, first and last time
//	                                 | each interval, or when the table is full
//	           waiting counts of each subscription whose filter overlaps the pattern
//	                                 | each interval, one batch
//	           annotation of the subscription's row in the system graph -> change feed
//
// So a batch is a change like any other: durable, replicated, in the feed of every node, and
// delivered as package subscriptions delivers changes. This package has no delivery of its own.
//
// # What counts
//
// A read is one scan that a request of a client begins: of a pattern, of a range, or of one look-up
// of a join. Its pattern has the terms that all its rows share because of the scan. Rows are those
// that the store returned, which is before filters of a query and up to its LIMIT. Reads of the
// system itself are not counted, because only the server observes readers.
//
// # Promises
//
//   - Without a subscription of kind read a request costs one atomic load.
//   - Memory is bounded: by maxTable and maxWaiting entries for a machine, each of at most
//     four terms in the form of a key. What does not fit is counted as "other" for its subscription.
//   - A count that was not yet stored is lost if the machine dies. That is the last interval, or more
//     if the store cannot write.
//   - A batch is stored again under the same number if its first try may have failed. A consumer
//     recognizes it by the run of the process and the number.
package readcount
