// Package ast is the syntax tree of SPARQL 1.2 Query and Update: queries, graph patterns,
// property paths, expressions and update operations, and a printer back to SPARQL.
//
// Package parser makes the trees, package algebra translates them. A tree holds the meaning of
// a text, not its form: IRIs are absolute, prefixed names are expanded, "a" is rdf:type, lists
// and [ ] are their triples, and a predicate list is one triple pattern for each object.
// Literals keep their lexical form: 01 is "01"^^xsd:integer.
//
// Trees are shared and never changed after the parser returned them. A node embeds a [Pos], its
// place in the text, if a message or EXPLAIN may name it.
package ast
