// Package update carries out SPARQL 1.2 Update requests over an [source.Source]:
//
//	r, err := update.New(tree, update.Options{})
//	changes, err := r.Run(ctx, source)
//
// It touches no store. It returns the net effect of a request as [Changes]. The caller must
// apply them as a whole or not at all.
//
// # Reading the request's own writes
//
// Operations are carried out in order, and each sees the changes of earlier ones. These changes
// are the delta: graphs cleared, and in a B-tree of the ordered space's keys one row for each
// triple added or deleted
//
//	01 SPO   triples of the default graph
//	04 GSPO  triples of named graphs
//
// and, if a later operation has a WHERE, the triple's rows in the other orders. An [overlay] is
// the merge of these with the rows of the source. It reads a copy of the tree (copy-on-write),
// so an operation writes while it reads, and reads the state before itself.
//
// # Graphs
//
// A graph exists if it has triples, and only then; the default graph always exists. For such
// stores section 3.2 of the specification lets CLEAR and DROP succeed if the graph is missing.
// If it leaves a choice,
//
//	CREATE of an existing graph                  is ErrGraphExists
//	ADD, MOVE, COPY from a missing graph         is ErrNoGraph
//
// and with SILENT such an operation does nothing: COPY SILENT leaves the target as it was if
// the source is missing. CREATE of any other graph, and ADD, MOVE and COPY of a graph to
// itself, do nothing.
//
// LOAD SILENT does nothing if the document cannot be fetched or is not well-formed, even if
// some of it was read. SILENT has no effect if a request is cancelled or passes its memory.
package update
