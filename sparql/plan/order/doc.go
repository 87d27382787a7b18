// Package order finds the cheapest order of the joins between triple patterns.
//
// [Orders.Find] takes [cost.Candidate] values and what is known of the rows before them, and returns steps, each with a
// method. The rest of the package reads nothing: a search, which compares, over a joinModel, which computes rows and costs. The
// cost of a method stands in the file that has the name of its operator in package exec, and of its step in package build.
//
// An order depends on what waits for the variables of the patterns: a [Condition] of a FILTER, and an [Unfolding] of
// a triple term. It also depends on the [Request] of the operators above.
package order
