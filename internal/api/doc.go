// What the package is for.

// Package api defines the JSON forms that a node sends and a client reads, each once. The store, the
// cluster and the endpoints fill them; package client and package node name them for programs. A
// field, its place and its omitempty are part of the HTTP API: testdata/*.json has each form in full.
//
//	store, cluster, engine -> internal/server -> JSON -> client -> a program
//
// A form that only one side knows stays there. So does the stored state of a function, which has
// more fields than package client reads.
package api
