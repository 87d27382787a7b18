// Package sparql answers queries and updates at /sparql, by the SPARQL 1.2 Protocol
// (https://www.w3.org/TR/sparql11-protocol/).
//
// An operation is read from the URL or from a body. The engine prepares it, and the answer is
// streamed in the format that the client prefers while the engine computes. A GET without
// parameters returns the service description.
package sparql
