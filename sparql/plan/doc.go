// Package plan turns the algebra of a query into operators.
//
// [Start] has the passes of package optimize rewrite the algebra, and walks it from its root. Each node becomes an
// operator of package exec, joined with the operators before it; see compiler for the route. Three packages are below, and
// each imports only those after it:
//
//	build   an operator for each leaf and each join of two streams
//	order   the order of joins between patterns, by cost
//	cost    how many rows patterns have, from samples of the source
//
// Patterns are joined laterally: the solutions so far are the input of the next pattern. If a
// node must not see the solutions so far (section 18.5 evaluates from the inside out), it is
// executed on its own and hashed.
package plan
