// What the package is for.

// Package knakk converts between the terms and triples of github.com/knakk/rdf and those of
// package triple, for programs that use both. It also makes a document for loads out of a decoder
// of knakk/rdf:
//
//	decoder source -> [Input] -> rdf.TripleDecoder -> [TripleReader] -> node.Store.LoadReader
//	                                                                 -> client.Client.Load
//
// [Triples] and [Quads] yield the triples one by one, for node.Store.Add and client.Client.Add.
//
// A conversion keeps each term as it is: lexical forms and labels of blank nodes as they are written.
// Only language tags get lower case. What the other side cannot hold is an error that wraps [triple.ErrBadTerm] or
// [triple.ErrTermTooLong]; nothing is replaced in silence. knakk/rdf checks less than package
// triple: a relative IRI, a label with a space or a literal that is not UTF-8 is an error here.
//
// # Limits of knakk/rdf
//
// Packages turtle and rdfxml below rdfload parse more documents correctly, and faster. A decoder of
// knakk/rdf takes an error of its reader for the end of the document; [Input] keeps that error. A
// malformed line may panic in a goroutine of the decoder, which ends the process. So do not give it
// documents of strangers. A decoder that is not read to its end keeps a goroutine.
package knakk
