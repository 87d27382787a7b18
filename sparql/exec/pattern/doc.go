// Package pattern reads the matching rows of a triple pattern from a store.
//
// A [Pattern] has a term or a variable at each position, and a set of graphs. For the positions
// bound by a row, [Pattern.Access] chooses the order of the store with the fewest reads, and
// [Pattern.Ranges] makes the ranges of keys. A [Reader] decodes the rows of these ranges to
// bindings.
package pattern
