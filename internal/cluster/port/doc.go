// Package port puts all of a node behind one address: HTTP for clients, and the
// connections between nodes, on one TCP port, and datagrams on the same UDP
// number.
//
// A connection between nodes begins with a hello; whatever begins otherwise is
// HTTP. With TLS the hello is inside of it.
//
//	dialer    | "TREFOIL" 7 | major 1 | kind 1 | flags 1 | length n 1 | cluster n | tag 16 |
//	acceptor  | 1 prove 1 | nonce 32 |                 if both have a secret
//	dialer    | nonce 32 | HMAC 32 |                   if it was asked
//	acceptor  | 0 welcome 1 | HMAC 32, if both have a secret |
//	          | 2 cluster 1 |   another cluster's: refused
//	          | 3 busy 1 |      no room for connections of this kind now
//	          | 4 need 1 |      this node has a secret, the dialer none
//	          | 5 none 1 |      the dialer has a secret, this node none
//	          | 6 wrong 1 |     the proof is of another secret
//	          | 7 closed 1 |    this node lets no node in
//	          | 8 major 1 | 1 | another major of the protocol, and this node's: refused
//
// The major is 3 (see package protocol); it and the answer 8 stay where they are in
// every major. Bit 0 of the flags is 1 if the dialer has a secret. The tag
// is the first 16 bytes of SHA-256 of "trefoil cluster " and the cluster's ID;
// zeros if the dialer has no cluster yet. The HMAC is SHA-256 with the secret as
// its key over
//
//	| "trefoil dialer" or "trefoil acceptor" | acceptor's nonce | dialer's nonce |
//	| kind 1 | length n 1 | cluster n | tag 16 |
//
// Each side proves that it has the secret, with a nonce of the other one in it:
// neither can send the other's proof back, and a recorded proof is worth nothing.
// The dialer proves first, so that a stranger gets no HMAC to try secrets on. The
// secret authenticates both ends of a connection when it begins; it neither hides
// nor guards what comes after. TLS does.
//
// Whom a node speaks to:
//
//   - With TLS both sides show a certificate that the CA signed and that has the
//     node mark, the URI trefoil:node among its names. A dialer also demands that
//     the host that it dialed, name or IP address, is among them. A certificate
//     without the mark is good for HTTP only, and HTTP asks for none.
//   - With a secret both sides prove it. If one side has a secret and the other
//     none, neither takes the connection.
//   - The names of the clusters are equal, and their IDs if both have one. A node
//     without a name takes any, and a dialer without one may open Peer
//     connections, because it is joining.
//   - A node that is Closed takes and makes no connection between nodes.
//
// A refused dialer gets the reason. The cluster is compared after the proofs.
package port
