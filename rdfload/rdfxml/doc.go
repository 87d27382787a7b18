// Package rdfxml reads and writes RDF 1.2 XML Syntax, a draft, which includes that of RDF 1.1.
//
// The parser is a stream over the tokens of encoding/xml. It holds only the open elements, so
// memory does not grow with the document. The exception are the rdf:IDs, because each must be used
// only once: 8 bytes are kept of each of the first four million. There are limits for the document
// ([Options].MaxBytes), a token (64 MiB as it is written), a term ([triple.MaxTermBytes]) and the
// depth of elements ([MaxDepth]).
//
// The parser is strict: namespaces must be declared, attributes unique, names and IRIs well-formed,
// and the text in the encoding that the document declares: UTF-8, UTF-16 (found by its first bytes), or
// one of a byte for each character, such as ISO-8859-1 and windows-1252. A document of XML 1.1 is
// processed as one of 1.0. An attribute
// without a namespace is rejected, except about, ID, resource, parseType and type, because those
// count as RDF's.
//
// # RDF 1.2
//
// rdf:parseType="Triple" makes a triple term, rdf:annotation and rdf:annotationNodeID add a reifier,
// and its:dir gives a base direction. Triple terms and directions count only below an rdf:version of
// 1.2 or later, on any element. Without it they are ignored, with a warning ([Options].Warn): so says
// W3C's suite. The writer puts rdf:version on each property that needs it.
//
// Of a DTD only the internal general entities are used, because ontologies have them for their
// namespaces. Their values must be text, of 4 KiB at most. If entities could make a token larger
// than 64 MiB, it is rejected unexpanded, so nested entities cannot blow up. Nothing outside of the
// document is ever read.
//
// The package does not use github.com/knakk/rdf. Its decoder passes 109 of the 110 tests of W3C's
// suite, but rejects documents beyond the suite: typed nodes within properties, collections of
// anything but named descriptions, and IRIs such as urn:x:y. A test compares the two decoders.
//
// Package blank has the rule for the labels of blank nodes.
package rdfxml
