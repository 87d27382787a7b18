// Package algebra is the SPARQL algebra (SPARQL 1.2 Query, section 18): its operators as a
// tree, the translation of queries and updates into it, and simplifications without a change of
// meaning.
//
// [Translate] follows section 18.2 to the letter and [Simplify] is a pass of its own, so each
// may be compared with the specification. A tree has no names: a [Scope] numbers every
// variable, so a solution is an array of terms. One name may have several numbers, if a
// subquery does not project it, and blank nodes of patterns are variables with numbers of their
// own.
package algebra
