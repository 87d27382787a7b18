// Package rank scores pages by the links between them. It has no network, disk
// or clock; goroutines of a call have ended when it returns.
//
//	PageRank              all pages of a graph, as a job        [PageRank]
//	HITS, SALSA           of a small graph, at query time       [HITS], [SALSA]
//	neighbourhood graph   the small graph around a result set   [NewNeighbourhood]
//
// # PageRank
//
// A graph is kept in partitions, such as cells, each with the forward links of
// its pages: to pages of the same partition by their numbers (locals), to others
// by numbers in a list of its own of all other pages that it links to (ghosts).
// A round has three steps, each for all partitions at the same time:
//
//	push      go through the links once; add each page's share to its locals'
//	          sums, and to its ghosts' sums
//	receive   add the other partitions' sums for ghosts to the pages that they
//	          are: one number for each ghost, not for each link
//	settle    make the sums scores
//
// A partition's pages and popular ghosts fit into a processor's cache where it
// has some 100,000 pages, so links cost as much as reading them one after the
// other. What would be random memory accesses over the whole graph is the
// receive step, in which there are several times fewer ghosts than links. If
// partitions are on several machines, an [Exchange] carries the sums of ghosts.
// Steps are barriers, and all sums are in the order of the partitions: so
// scores are the same bits with any number of workers and machines.
//
// Sums are pushed along forward links and not pulled along backward links: both
// cost the same for each link, but a partition has several times fewer pages
// that it links to than pages that link to it, so several times fewer numbers go
// to others. Scores and sums are float64. float32 sums would lose links: a page
// with millions of links is so much above each of their shares that these are
// rounded away; and they are a seventh faster at most. BenchmarkKernels compares.
//
// Decoding lists costs more than all else. Where there is memory for it,
// Options.CopyBytes lets a job keep the links as plain numbers.
//
// A job can be resumed from the [State] of each partition after the same round.
// All numbers are little-endian:
//
//	+-----+-----+-----+-----+------+----+----+----+
//	| 't'   'f'   'P'   'K' | 0x01 |  0    0    0 |   magic, version
//	+-----+-----+-----+-----+------+----+----+----+
//	| u64 graph                                   |   Options.Graph
//	+-----------------------+---------------------+
//	| u32 partition         | u32 partitions      |
//	+-----------------------+---------------------+
//	| u64 pages of all partitions                 |
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
