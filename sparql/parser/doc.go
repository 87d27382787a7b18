// Package parser reads SPARQL 1.2 Query and Update (the grammar of SPARQL 1.2
// Query, section 19.8, with its notes) into trees of package ast.
//
// The lexer is written by hand and the parser is a recursive descent with one token of
// look-ahead, so time and memory are linear in the text. Errors are *[triple.SyntaxError]s:
// they have the place, the found token and the expected one. The first one ends the parse.
// [Options] bound the size and depth of a text.
//
// Beyond the grammar these are errors too: blank node labels in two basic graph patterns or two
// operations, AS with a variable in scope, a grouping SELECT with more than keys and aggregates
// in its projection, aggregates in aggregates or outside of SELECT, HAVING and ORDER BY,
// variables in data, blank nodes in deletions, and rows of VALUES of the wrong length.
package parser
