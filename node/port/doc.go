// Package port puts all of a node behind one address: HTTP for clients, and the
// connections between nodes, on one TCP port, and datagrams on the same UDP
// number.
//
// A connection between nodes begins with a hello; whatever begins otherwise is
// HTTP. With TLS the hello is inside of it.
//
//	dialer    | "TREFOIL" 7 | version 1 | kind 1 | length n 1 | cluster n |
//	acceptor  | 1 prove 1 | nonce 32 |                      where it has a secret
//	dialer    | nonce 32 | HMAC 32 |                        where it was asked
//	acceptor  | 0 welcome 1 | HMAC 32, where both have a secret |
//	          | 2 cluster 1 |   another cluster's: refused
//	          | 3 busy 1 |      nobody takes connections of this kind now
//
// The version is 1. The HMAC is SHA-256 with the secret as its key over
//
//	| "trefoil dialer" or "trefoil acceptor" | acceptor's nonce | dialer's nonce | kind 1 | length n 1 | cluster n |
//
// so each side proves that it has the secret and neither can send the other's
// proof back. It keeps strangers off the port; it neither hides nor guards what
// comes after it. TLS does.
//
// Whom a node speaks to:
//
//   - With TLS both sides show a certificate that the CA signed and that has the
//     node mark, the URI trefoil:node among its names. A dialer also demands that
//     the host that it dialed, name or IP address, is among them. A certificate
//     without the mark is good for HTTP only, and HTTP asks for none.
//   - With a secret both sides prove it.
//   - The names of the clusters are equal. A node without a name takes any, and
//     a dialer without one may open Peer connections: it is about to join.
//
// Who fails in any of these is cut off without an answer; only the wrong cluster
// is told so, after the proofs.
package port
