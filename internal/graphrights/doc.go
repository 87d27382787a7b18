// Package graphrights limits a request to the graphs that its user may read and write.
//
// A request carries its [Rights] in its context, by [With]. What reads for it calls [Filter], which returns a
// reader of the readable graphs only: rows of others are skipped, as if they did not exist. What writes for it
// uses a store of [Guard] or calls [Check]: a change of another graph is [ErrForbidden], and no part of it is made.
// A context without rights, as of tokens and of the node's own work, has all graphs.
//
//	request -> With(ctx, rights) -> Filter(ctx, reader) -> /triples, /range, /count, /data, /search, SPARQL
//	                                                        /links (package linkrows)
//	                             -> Guard(store), Check(ctx, changes), CheckGraph(ctx, graph) -> writes of the same
//
// The filter reads the rows that it skips, so the time of an answer depends on them. Counts are exact. Those of all
// triples and of a subject read the rows of the readable graphs only, and all rows if the default graph is readable,
// because it has no order of its own. Other counts read all rows of their pattern. A query has no columns and no graph of links, because both have rows of all graphs.
package graphrights
