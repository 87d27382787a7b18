// The index of the batches that one machine keeps after their commit.

// Package batchlog indexes the batches that a holder keeps after their commit, because they are its
// part of the cluster's change feed. Package replica writes the rows; see [Key]. The log knows
// where to begin to read, what is trimmed, and when to trim.
//
// # Blocks
//
// The batches of a stream, an incarnation of a sequencer, ascend. A run of them of at most about 1 MiB or a
// minute is a block. A block ends at its last batch, and begins behind the block before it. So a
// lost row of a block only makes the next block larger. The row of a block is written with the batch
// that ends it. When a store opens, only the batches behind the last block are read.
//
// A stamp of a block is the greatest of its batches that were stamped in the epoch in which they
// were sent. These stamps ascend along a stream. So a search in memory finds the block at which a
// reader must begin.
//
// # Late operations
//
// Operations may be sent again in a later epoch than that of their stamps. Their batch has a row for
// each such epoch, so that a reader of this epoch finds them all.
//
// # Trimming
//
// [Log.Trim] removes the oldest blocks while the log is larger or older than its retention. It skips
// blocks with a batch in flight. It records the greatest stamp that each stream has lost. A reader
// whose position lies before that must report that changes are gone.
//
// # Rows of local state
//
//	unsettled/SIB     the batch; see package replica
//	log/block/SIB     a block that ends with batch B: uvarint bytes, uvarint unix ms, and of the
//	                  stamps: uvarint first epoch, uvarint epoch, uvarint sequence
//	log/old/ESIB      batch B has operations with a stamp of the earlier epoch E; empty
//	log/trim/SI       uvarint last trimmed batch, uvarint epoch and uvarint sequence of the
//	                  greatest trimmed stamp
//	log/trimmed       uvarint greatest epoch E of trimmed log/old rows, uvarint greatest epoch of
//	                  streams whose log/trim row is gone
//
// S is a machine, I its incarnation, B a batch's number, E an epoch: 8 bytes each, big-endian.
package batchlog
