// Package rank scores pages by the links between them. It has no network, disk or clock. When a
// call returns, its goroutines have ended.
//
//	PageRank              all pages of a graph, as a job        [PageRank]
//	HITS, SALSA           of a small graph, at query time       [HITS], [SALSA]
//	neighbourhood graph   the small graph around a result set   [NewNeighbourhood]
//
// # PageRank
//
// A graph is kept in partitions, such as cells. Each has the forward links of its pages. A link
// to a page of the same partition is the page's number (a local). Every other page has a number
// in the partition's own list (a ghost). A round has three steps. Each step must end in all
// partitions before the next one begins:
//
//	push      go through the links once; add each page's share to its locals'
//	          sums, and to its ghosts' sums
//	receive   add the other partitions' sums for ghosts to the pages that they
//	          are: one number for each ghost, not for each link
//	settle    make the sums scores
//
// If a partition has some 100,000 pages, its pages and popular ghosts fit into a processor's
// cache. A link then costs as much as a sequential read. Only the receive step accesses memory at
// random, and there are several times fewer ghosts than links. Scores are the same bits with any
// number of workers, because steps are barriers and sums follow the order of the partitions.
//
// If partitions are on several machines, an [Exchange] carries the sums of ghosts: one message for
// each pair of machines in a round, of 8 bytes for each page of the receiver that the sender links
// to. Both agree on these pages before the first round. All machines send what they know of the
// change of the round before with it, so they end after the same round and need no coordinator.
//
// If a machine is lost, the job ends on all of them, and must begin again: it takes minutes, so
// states between rounds cost more than they save.
//
// Sums are pushed along forward links, not pulled along backward links. Both cost the same for
// each link. But a partition links to several times fewer pages than link to it, so push sends
// several times fewer numbers to others. Scores and sums are float64, because float32 sums would
// lose links: if a page has millions of links, each share is so small beside the sum that
// rounding drops it. float32 is a seventh faster at most. BenchmarkKernels compares the two.
//
// Decoding lists costs more than all else. If there is memory for it, Options.CopyBytes lets a
// job keep the links as plain numbers.
//
// The scores of a partition can be stored as a [State]. All numbers are little-endian:
//
//	+-----+-----+-----+-----+------+----+----+----+
//	| 't'   'f'   'P'   'K' | 0x01 |  0    0    0 |   magic, version
//	+-----+-----+-----+-----+------+----+----+----+
//	| u64 graph                                   |   0 if it is not known
//	+-----------------------+---------------------+
//	| u32 partition         | u32 partitions      |   of the machine
//	+-----------------------+---------------------+
//	| u64 pages of these partitions               |
//	+---------------------------------------------+
//	| u64 round                                   |   1 ... 2^31-1
//	+---------------------------------------------+
//	| float64 change                              |   in this round, L1
//	+---------------------------------------------+
//	| float64 damping                             |   in (0,1)
//	+---------------------------------------------+
//	| u64 n                                       |   pages of this partition
//	+---------------------------------------------+
//	| n times float64                             |   scores
//	+---------------------------------------------+
//	| u64                                         |   xxhash64 of all before it
//	+---------------------------------------------+
package rank
