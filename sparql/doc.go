// Package sparql answers SPARQL 1.2 queries over a [Source], a consistent state
// of an ordered store:
//
//	result, err := sparql.Query(ctx, source, text, sparql.Options{})
//	if err != nil { ...
//	defer result.Close()
//	for row, err := range result.Rows() { ...
//
// [PrepareUpdate] is the same for SPARQL 1.2 Update: it returns the changes of a request, and
// the caller must apply them.
//
// The route of a query:
//
//	text -> parser -> ast -> algebra -> optimize -> plan -> exec -> Result -> results
//
// Package parser reads the text into the tree of package ast, and package algebra translates
// the tree. Package optimize rewrites the algebra, package plan asks the source for estimates and makes operators, package
// exec runs them over package source, and package results writes the solutions. Package expr evaluates
// expressions, and package explain shows plans. None of them has a goroutine, clock, file or
// socket: they come in [Options].
package sparql
