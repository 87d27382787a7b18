// Package annotations answers /annotations: what applications attach to triples.
//
// GET, PUT and DELETE are about one annotation. Its version is its entity tag, so If-Match and
// If-None-Match compare and set. POST takes a batch, one change a line. [access.Caller] decides whose
// annotations a request may read and write.
package annotations
