// Package sparql answers SPARQL 1.1 queries over a [Source], a consistent state
// of an ordered store:
//
//	result, err := sparql.Query(ctx, source, text, sparql.Options{})
//	if err != nil { ...
//	defer result.Close()
//	for row, err := range result.Rows() { ...
//
// [PrepareUpdate] is the same for SPARQL 1.1 Update: what a request changes comes
// out, for the caller to apply.
//
// Package parser reads the text, package algebra translates it, package exec
// plans and executes it, and package results writes what comes out. None of them
// has a goroutine, clock, file or socket: what needs one comes in [Options].
package sparql
