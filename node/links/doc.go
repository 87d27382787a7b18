// Package links keeps the graph of the links in a store: cells in memory, made from
// the store's triples and kept up with them, and the answers to package links' Graph.
//
// # From triples to cells
//
// A build takes a snapshot and goes through two ranges of POS. The first is that of
// UIDs, in the order of their values: the pages by UID, each of which gets an
// ordinal, its place in that order. The second is that of links, in some parts for
// each processor: both ends of a link are looked up in a hash table by URL, a target
// once for all of its links, and the link goes to the cell of its source and to that
// of its target, as ordinals: backward links stay together as the rows have them, forward
// ones are brought to their pages when the cell is made. Pages that have no UID yet get one first, very many
// of them by a bulk load. Where the links do not fit in the memory that a build may
// use, it goes through them more than once, each time for some of the cells.
//
// # Live
//
// The store's feed says what commits have changed of links. A goroutine, the keeper,
// takes entry after entry into the deltas of the cells, and publishes all of them at
// once: readers see the graph as it was after some entry. When a delta has grown
// beyond a tenth of its cell, the cell is built again beside it. After a bulk load,
// or whatever else the feed does not tell one by one, all cells are.
//
// # Files
//
//	links/graph.json   which cells there are, and the entry of the feed that
//	                   they have taken in
//	links/N.cell       a cell (package links/cell)
//
// They are a cache of what is in the store: where one is missing, damaged, or older
// than the feed reaches back, cells are built anew.
//
// A job of PageRank has two files more, which pagerank_checkpoint.go draws:
//
//	links/pagerank.job      one that has not ended, with its options and, as a rule, the
//	                        scores after some round, from which it goes on
//	links/pagerank.scores   the scores of the last one that has ended well
package links
