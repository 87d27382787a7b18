// Package httpapi holds the HTTP doors of a node: SPARQL, graphs by the Graph
// Store Protocol, Triple Pattern Fragments, ranges, patterns, adding, deleting,
// counting, bulk loading, backup, status and metrics. docs/API.md describes them
// for users.
//
// An [API] answers requests ([New]); a [Server] listens for it with limits on
// time, connections and memory, and shuts down gracefully.
//
// A request passes, in this order: the token, the door and its method, the
// parameters (an unknown or repeated one is an error), the door's handler. A
// handler returns an error as long as nothing was sent, and it is answered as
// JSON. Once the header is out an error aborts the connection, so that a
// broken answer never looks complete.
package httpapi
