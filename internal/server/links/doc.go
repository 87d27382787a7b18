// Package links answers for the graph of hyperlinks, under /links.
//
// A request names pages by UID or by URL, in JSON or in the binary form of package wire. Lists
// are read in pieces, so that memory is bounded, and streamed. If a request names an epoch, each
// piece must be of that epoch, and the epoch is checked after each read.
package links
