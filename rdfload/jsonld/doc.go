// Package jsonld reads JSON-LD 1.1 as RDF.
//
// The document is expanded by github.com/piprate/json-gold, in memory as a whole,
// and what has been expanded is deserialised to triples here, in an order that
// depends on the document only. (The library's own deserialisation drops, without
// a word, IRIs that it takes for malformed, and its node map is quadratic.)
//
// Nothing is ever fetched: a context that is not in the document must be among
// [Options].Contexts. Bounds hold for the document ([Options].MaxBytes), the depth
// of its objects and arrays (500), the definitions in its contexts (50,000) and
// what processing them multiplies up to. JSON is taken strictly: UTF-8, no unpaired
// surrogate, no name twice in an object, nothing behind the document.
//
// An IRI that is malformed, or relative without a base, is an error, where the
// algorithm of the recommendation would leave its triples out; properties that
// are blank nodes, and names that no context defines, are left out as it says.
// Integers keep all their digits below 1e21. Directions (@direction) are left out.
//
// Blank nodes are named by the rule of package blank.
package jsonld
