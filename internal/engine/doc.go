// Package engine runs SPARQL on a store. It gives package sparql its surroundings: snapshots, a
// clock, randomness, temporary files, the network, and the limits of time and memory.
//
// # Updates
//
// An update is evaluated on a snapshot while no other update runs, and its net effect is applied as
// one durable change. The documents of LOAD are fetched to temporary files before that, because a
// slow server must not delay other updates, and so are the contexts of their JSON-LD. The requests of
// SERVICE in a WHERE are sent during the update.
//
// # The network
//
// SERVICE and LOAD are off until [Options].AllowHosts names hosts. Then requests
//
//   - go to http and https only, to hosts and ports of the list, without a user in
//     the URL; redirects too (5 at most), and never from https to http, nor from
//     POST to GET
//   - dial public addresses only, and those that the list has as addresses. The
//     check is part of the dial, after the name was resolved: there is no moment
//     in which a name could come to mean another address. Addresses of this
//     machine, private networks, links (169.254.169.254 among them), groups,
//     shared (100.64.0.0/10), reserved and documentation ranges are not public, in
//     whatever way they are written, within IPv6 too
//   - go through no proxy, and carry no cookies, credentials or referrers
//   - are given up after a minute without a byte, and end with the query
//   - bring at most Options.UpdateMemory bytes for LOAD, sent and decompressed, for
//     all documents of an update together as they are sent, and 1 GiB for one
//     answer to SERVICE
//
// The error is [ErrHost] if a request is not allowed, and [ErrNetwork] if it fails.
package engine
