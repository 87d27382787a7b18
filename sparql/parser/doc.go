// Package parser reads SPARQL 1.1 Query and Update (the grammar of SPARQL 1.1
// Query, section 19.8, with its notes) into trees of package ast.
//
// The lexer is written by hand and the parser is a recursive descent with one
// token of look-ahead, so that time and memory are linear in the text. Errors
// are *[triple.SyntaxError]s: they say where, what was found and what was
// expected; the first one ends the parse. [Options] bound what a text may ask for.
//
// Beyond the grammar these are errors too: blank node labels in two basic graph
// patterns or two operations, AS with a variable that is in scope, a SELECT that
// groups and projects more than keys and aggregates, aggregates in aggregates
// or outside of SELECT, HAVING and ORDER BY, variables in data, blank nodes in
// what is deleted, and rows of VALUES of the wrong length.
package parser
