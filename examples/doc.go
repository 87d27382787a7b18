// Package examples has small programs and the test that runs them:
//
//	embed    a store of the program's own: add, match, count
//	query    Turtle, SPARQL with a bound value, an update
//	links    hyperlinks: who links to a page, a ranking
//	cluster  a client that writes through one member and reads through another
//
// Run one by go run ./examples/embed.
package examples
