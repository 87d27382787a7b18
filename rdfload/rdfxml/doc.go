// Package rdfxml reads and writes RDF 1.1 XML Syntax.
//
// The parser is a stream over the tokens of encoding/xml and holds what is open:
// memory does not grow with the document, but for the rdf:IDs, each of which may
// be used once (8 bytes are kept of each, of the first four million). Limits hold
// for the document ([Options].MaxBytes), a token (64 MiB as it is written), a term
// ([triple.MaxTermBytes]) and the depth of elements ([MaxDepth]).
//
// It is strict: namespaces are declared, attributes unique, names and IRIs
// well-formed, and the text UTF-8; a document that says or shows another encoding
// is refused. Attributes without a namespace are refused, but for about, ID,
// resource, parseType and type, which count as those of RDF.
//
// Of a DTD only the internal general entities count, which ontologies use for
// their namespaces. Their values are text, of 4 KiB at most, and a token that
// could grow beyond 64 MiB by them is refused unexpanded: entities cannot be
// nested to blow up. Nothing outside of the document is ever read.
//
// The package does not stand on github.com/knakk/rdf, whose decoder passes 109 of
// the 110 tests of W3C's suite and yet refuses what the suite does not try: typed
// nodes within properties, collections of anything but named descriptions, and
// IRIs such as urn:x:y. A test has it give a second opinion.
//
// Blank nodes are named by the rule of package blank.
package rdfxml
