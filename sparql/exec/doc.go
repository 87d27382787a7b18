// Package exec plans and executes the SPARQL algebra over a [Source] of ordered
// rows.
//
// Operators are pulled: each gives its rows in batches. A row is an array of
// bindings by slot; a binding is the whole encoded form of a term
// ([triple.AppendWholeTerm]), "" where the variable is unbound. Two bindings are
// the same term exactly where their bytes are equal, so that joins, DISTINCT and
// grouping by variables decode nothing.
//
// Patterns are joined laterally: the solutions so far are the input of the next
// pattern, which is looked up for a batch of them at a time. What may not see the
// solutions so far (section 18.5 evaluates from the inside out) is executed on its
// own and hashed. OPTIONAL and EXISTS run their pattern over a batch of rows, and
// each row that comes out knows which of them it came from.
//
// What operators hold is counted against [Options.Memory]. ORDER BY, GROUP BY,
// DISTINCT and hash joins go on in temporary files where that is not enough and
// there is a [Spill]: sorted runs that are merged, and partitions by hash. All
// others end the query with [ErrMemory].
package exec
