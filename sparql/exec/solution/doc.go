// Package solution holds solutions of a query: rows of bindings by the slots of variables.
//
// A binding is the whole encoded form of a term ([triple.AppendWholeTerm]), and "" if the
// variable is unbound. Two bindings are the same term if and only if their bytes are equal, so
// joins, DISTINCT and grouping by variables decode nothing.
//
// Solutions travel between operators in a [Batch]. If an operator must keep them, it copies
// them to a [Table] or a [HashTable], because the bytes of these count against the query's
// memory. A [View] shows a row to expressions, and decodes terms when they are needed.
package solution
