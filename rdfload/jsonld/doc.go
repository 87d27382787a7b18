// Package jsonld reads JSON-LD 1.1 as RDF, and writes it.
//
// A document passes through four steps, in memory and as a whole: decode makes JSON values of bytes
// (json.go), [processor] makes an active [context] of the contexts in it (process.go, define.go) and
// expands its objects (expand.go, entries.go, members.go), and builder makes triples of the expanded
// document. Steps follow the algorithms of the recommendation "JSON-LD 1.1 Processing Algorithms and
// API", with these choices:
//
//   - An expanded document has Go types instead of JSON objects, without indexes, because RDF has none.
//   - No node map is made, because a graph is a set of triples.
//   - Members are taken in the order of their names, so that the order of triples depends only on the
//     document.
//   - An IRI is an error if it is malformed, or relative without a base, and so is a malformed language
//     tag; the recommendation would leave the triples out. As there, a property is left out if it is
//     a blank node, and a name is left out if no context defines it.
//   - Relative references are resolved by package iri, as in all other syntaxes.
//   - Integers keep all their digits below 1e21.
//   - A string with @language and @direction is a directional language-tagged string of RDF 1.2;
//     without @language its direction is left out. JSON-LD 1.1 has no triple terms ([ErrTripleTerm]).
//   - The version 1.0 is not offered.
//
// Nothing is fetched here: if a context is not in the document, [Options].Contexts has to return it.
// There are limits for the document ([Options].MaxBytes), the depth of its objects and arrays
// (500), the definitions of a context (50,000), and the definitions that all its contexts make and
// copy together. JSON must be strict: UTF-8, no unpaired surrogate, no name twice in an object,
// nothing after the document.
//
// Package blank has the rule for the labels of blank nodes.
package jsonld
