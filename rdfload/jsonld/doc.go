// Package jsonld reads JSON-LD 1.1 as RDF, and writes it.
//
// The library github.com/piprate/json-gold expands the document, in memory and as a whole. This
// package makes triples of the expanded document, in an order that depends only on the document. It
// does not use the library's own deserialisation, because that silently drops IRIs if it considers
// them malformed, and because its node map is quadratic.
//
// Nothing is ever fetched: if a context is not in the document, it must be in [Options].Contexts.
// There are limits for the document ([Options].MaxBytes), the depth of its objects and arrays
// (500), the definitions in its contexts (50,000) and the product of contexts and definitions. JSON
// must be strict: UTF-8, no unpaired surrogate, no name twice in an object, nothing after the
// document.
//
// An IRI is an error if it is malformed, or relative without a base; the algorithm of the
// recommendation would leave its triples out. As in the algorithm, a property is left out if it is
// a blank node, and a name is left out if no context defines it. Integers keep all their digits
// below 1e21. A string with @language and @direction is a directional
// language-tagged string of RDF 1.2; without @language its direction is left out. JSON-LD 1.1 has no
// triple terms ([ErrTripleTerm]).
//
// Package blank has the rule for the labels of blank nodes.
package jsonld
