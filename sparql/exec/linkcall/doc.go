// Package linkcall has the operators of the functions of hyperlinks, such as links:salsa and
// links:distance.
//
// [Join] joins its input with the pages and results of a function, a chunk of rows at a time: it asks
// the graph ([exec.LinkGraph]) about the distinct pages of a chunk together, because each call may be
// a round trip to other machines. [Rank] takes all rows of its input, because the score of a page
// depends on all of them. [answers] are what the graph said about the pages of a chunk, and [best] are
// the pages of the whole graph by PageRank.
//
// All bytes held count for the query, and a row that does not fit ends it.
package linkcall
