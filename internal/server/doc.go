// Package server serves the HTTP API. docs/api describes it for users.
//
// [New] assembles an [API] from families of endpoints: packages triples, graphstore, sparql,
// links, admin and console. A [Server] listens for it, within limits on time, connections and
// memory, and shuts down gracefully.
//
// # The route of a request
//
// [API.ServeHTTP] wraps the body and the writer, because each read and write has a deadline.
// Then a request must pass the Host header, the token, the method, the origin if it changes
// data, and the parameters. An unknown or repeated parameter is an error, unless the method has
// OwnParams, as /sparql. Then the handler of the endpoint runs, once for each idempotency key.
//
// If the handler returns an error and nothing was sent, the answer is the error as JSON. If
// a part was sent, the connection is aborted, because a broken answer must not look complete.
package server
