// Package linkgraph keeps the graph of the links in a store: cells in memory, made from the
// store's triples and kept up to date, and the answers of package links' Graph.
//
// # From triples to cells
//
// A build takes a snapshot and reads two ranges of POS. The first is that of UIDs, in the order
// of their values: the pages by UID. Each page gets an ordinal, its index in that order. The
// second is that of links, in some parts for each processor. Both ends of a link are looked up
// in a hash table by URL, a target once for all of its links. The link goes to the cell of its
// source and to that of its target, as ordinals. Backward links stay in the order of rows;
// forward links are sorted by page when the cell is made. If pages have no UID yet, they get
// one first, by a bulk load if they are very many. If the links do not fit into the memory of a
// build, it reads them more than once, each time for some of the cells.
//
// # Live
//
// A goroutine, the keeper, follows the store's feed with a filter on the predicate of links. It
// takes request after request into the deltas of the cells, and publishes all of them at once:
// readers see the graph as it was after some request. If a delta exceeds a tenth of its cell, the cell is
// built again in the background. After a bulk load or a cleared
// graph, or if the feed no longer reaches back to them, all cells are built again.
//
// # Files
//
//	links/graph.json   the list of cells, and the sequence of the feed up to which
//	                   they have taken in its changes
//	links/N.cell       a cell (package links/cell)
//
// They are a cache of the store's content. If one is missing, damaged, or older than the feed
// reaches back, all cells are built again.
//
// A PageRank job has two more files; pagerank_checkpoint.go draws them:
//
//	links/pagerank.job      a job that has not ended, with its options and, as a rule, the
//	                        scores after some round, from which it continues
//	links/pagerank.scores   the scores of the last job that succeeded
package linkgraph
