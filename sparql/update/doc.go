// Package update carries out SPARQL 1.1 Update requests over an [exec.Source]:
//
//	r, err := update.New(tree, update.Options{})
//	changes, err := r.Run(ctx, source)
//
// It touches no store. What a request does to a dataset comes out as [Changes],
// its net effect, for the caller to apply as a whole or not at all.
//
// # Reading what was written
//
// Operations are carried out in order, and each sees what those before it did.
// What they did so far is the delta: graphs that are cleared, and in a B-tree of
// the ordered space's keys one row for each triple that is added or deleted
//
//	01 SPO   triples of the default graph
//	04 GSPO  triples of named graphs
//
// and, as long as an operation with a WHERE is still to come, the rows that the
// triple has in the other orders. An [overlay] is the merge of these with the
// rows of the source. It reads a copy of the tree (copy-on-write), so that an
// operation writes while it reads, and reads the state before itself.
//
// # Graphs
//
// A graph is there where it has triples, and only then; the default graph always
// is. For such stores section 3.2 of the specification lets CLEAR and DROP of a
// graph that is not there succeed. Where it leaves a choice,
//
//	CREATE of a graph that is there              is ErrGraphExists
//	ADD, MOVE, COPY from a graph that is not     is ErrNoGraph
//
// and with SILENT such an operation does nothing: COPY SILENT from a graph that
// is not there leaves the target as it was. CREATE of any other graph, and ADD,
// MOVE and COPY of a graph to itself, do nothing.
//
// LOAD SILENT of a document that cannot be had or is not well-formed does nothing,
// also where some of it was read. Nothing silences a request that is cancelled or
// passes its memory.
package update
