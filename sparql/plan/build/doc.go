// Package build makes operators of the parts of a query that need no walk over the algebra.
//
// A [Part] joins a [Stream] of rows with a leaf: triple patterns, a path, VALUES, a function. [Query.HashJoin] and others
// join two streams, or change one. Each operator comes with its [explain.Plan], and stands in the file that has its name in
// package exec.
//
// A leaf at its place has a [Scope], which it inherits and must respect.
package build
