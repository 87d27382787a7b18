// Package exec holds the operators of queries, and runs them.
//
// Package plan makes a tree of operators over a shared [Execution]: the source, the limits of
// memory and time, temporary files. A [Run] pulls solutions from the root. Each [Operator]
// gives its rows in batches (package solution), and reads the store through patterns (package
// pattern).
//
// OPTIONAL and EXISTS run their pattern over a batch of rows: a [Feed] holds the batch, and
// each resulting row has the number of its row of the batch.
//
// The operators of package scan read rows, those of package columnjoin columns. Those of package blocking hold rows. The
// operators here pass rows on.
//
// The bytes of operators are counted against [Options.Memory] (package memory). ORDER BY, GROUP
// BY, DISTINCT and hash joins go on in temporary files (package spill) if there is a
// [spill.Storage]. All others end the query with [memory.ErrMemory].
package exec
