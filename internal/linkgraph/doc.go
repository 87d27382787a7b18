// Package linkgraph is the graph of the links in a store or in a cluster: compressed cells in memory,
// made from triples and kept up to date, and the answers of package links' Graph.
//
// A lone node and a member of a cluster have the same implementation. [Graph] is the graph as one
// machine answers for it, and names its parts. [Open] returns that of a lone store, [OpenNode] that of
// a node.
//
// # Partitions
//
// The slots of UIDs are divided into 64 partitions. Under a view each partition ranks the machines
// by a hash (machine/partitions.go). The first one is the primary, the next ones are secondaries. Together
// they are the holders, one for each copy of a triple, or as Options.Copies requests. A holder has
// the cells of the partition. A cell never spans two partitions. A lone node holds all.
//
//	                      the change feed
//	                            |
//	                      intake (keep)
//	                            |
//	rows -- build --> placer -> keeper -> state: cells and deltas at a position -> readers
//	machines - copy ->                           |
//	                                             +-> files
//
// # From triples to cells
//
// A build (package build) reads two ranges of POS. The first is that of UIDs, in the order of their
// values: the pages by UID. Each page gets an ordinal, its index in that order. The second is that
// of links: on a lone node from a snapshot, in some parts for each processor, and in a cluster from
// all owners, in one stream. Both ends of a link are looked up in a hash table by URL, a target
// once for all of its links. The link goes to the cell of its source and to that of its target, as
// ordinals. Backward links stay in the order of rows; forward links are sorted by page when the
// cell is made. Pages of other partitions get their UIDs from their primaries. If pages of a lone
// node have no UID yet, they get one first, by a bulk load if they are very many. If the links do
// not fit into the memory of a build, it reads them more than once, each time for some of the cells.
//
// # The keeper
//
// One goroutine, the keeper, owns the cells. It follows the change feed with a filter on the
// predicate of links, takes in request after request, and publishes all deltas at once with the
// position that they have reached (keep/keeper.go, keep/take_in.go). If a delta exceeds a tenth of its cell,
// the cell is built again in the background (keep/upkeep.go). A bulk load or a cleared graph in the feed
// makes all cells void. So does a feed that no longer reaches back to the cells.
//
// # The placer
//
// A second goroutine, the placer, gets the partitions that this machine must hold and lacks
// (keep/place.go). It copies a partition from any machine that has it, with its position (keep/transfer.go).
// If there is none, the primary builds it. The keeper then takes in what has changed since that
// position. The placer drops a partition that others must hold when all of these have it. So
// growth, shrinking and failures are one mechanism.
//
// # Stores
//
// A cell may have its URLs, forward lists or backward lists in its file alone (keep/stores.go). A client
// relinquishes them. The first read that needs them loads them again.
//
// # Reads
//
// A read requests the end of the feed (derived/shared.go), as the read index of Raft. A batch is divided by
// partition, and sent in one message to each machine (package route). A machine answers
// when its cells have reached the end (serve.go). So each read has every change that was
// acknowledged before it began. If a machine does not answer or refuses, its share is sent to
// another holder, for 10 s at most.
//
// # UIDs and replacements
//
// The primary of a partition assigns its UIDs and replaces the lists of its pages, in writes that
// are fenced to the epoch of its view. assign/assigner.go has the argument why no number is assigned twice,
// update/replacer.go that for lists. Package testing/model/linkmodel explores both, and the reads.
//
// # Files
//
//	links/graph.json   format 5: the list of cells, and the position in the feed up to which
//	                   they have taken in its changes
//	links/N.cell       a cell (package links/cell)
//	links/N.rows       its delta, if there are changes (package links/delta)
//
// They are a cache of the store's content, on members too. If one is missing, damaged, or older
// than the feed reaches back, the cells are copied from another machine or built again.
//
// A PageRank job has two more files; pagerank/files.go draws them:
//
//	links/pagerank.job      a job that has not ended, with its options
//	links/pagerank.scores   the scores of the last job that succeeded, of all pages
//
// # PageRank
//
// A job is one of all members (package pagerank). The coordinator sends its record to all members, and
// distributes its partitions (coordinator.go). Each machine freezes
// its cells, and does the rounds of its partitions (worker.go). The machines exchange sums
// with each other (exchange.go). At the end all have the scores (scores.go), and
// the coordinator stores them if the job requests it (store.go).
package linkgraph
