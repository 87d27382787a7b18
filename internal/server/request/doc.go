// Package request reads requests: parameters, bodies, and documents in RDF syntaxes.
//
// A body passes three readers. [TimedBody] gives each read a deadline. [Body] decompresses,
// enforces the greatest size and lets an account pay for the bytes. [Documents] parses the
// result into triples, in turns with queries, because parsing takes processor time.
package request
