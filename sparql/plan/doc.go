// Package plan turns the algebra of a query into operators.
//
// [Start] has the passes of package optimize rewrite the algebra, and walks it from its root. Each node becomes an
// operator of package exec, joined with the operators before it; see compiler for the route. The patterns of a basic
// graph pattern are ordered by their estimated cost: an estimator requests the rows of their ranges and samples from
// the source, and a search takes the cheapest of the orders, look-ups, hash joins and merge joins. Each operator comes
// with its [explain.Plan]. The cost and size of an operator stand in the file that has its name in package exec.
//
// Patterns are joined laterally: the solutions so far are the input of the next pattern. If a
// node must not see the solutions so far (section 18.5 evaluates from the inside out), it is
// executed on its own and hashed.
package plan
