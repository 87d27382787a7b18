// Package peer carries requests between the nodes of a cluster: calls, with one
// answer, and streams, whose answer is a sequence of frames.
//
// It is HTTP/1.1 with keep-alive over connections that it is handed: a [Client]
// gets a dial function, a [Server] a listener. Who may connect at all is theirs
// to say (TLS); whether a request belongs here is [Options].Check's.
//
//	POST /METHOD HTTP/1.1
//	Content-Length: always there, at most Options.MaxBody
//	Trefoil-Cluster: the cluster's name, percent-encoded
//	Trefoil-Clusterid: what tells clusters of one name apart, percent-encoded; may be empty
//	Trefoil-Generation: decimal
//	Trefoil-Epoch: decimal
//	Trefoil-From: the sender, 16 hexadecimal digits
//	Trefoil-Incarnation: decimal
//	Trefoil-To: the recipient, 16 hexadecimal digits; missing if any machine may answer
//	X-Request-Id, Traceparent: the HTTP request that it is for; may be missing
//
//	200  a call: the body is the answer, with a Content-Length
//	200  a stream: the body is chunked, and holds frames
//	409  a refusal: nothing was done. {"code": ..., "message": ..., "epoch": ...}
//	500  the handler's error: anything may have been done. {"code": "", "message": ...}
//
// A stream ends with an end frame or with an error frame. One that stops before
// was cut, and its reader gets an error:
//
//	+------+----------------+---------+
//	| kind | length uvarint | content |
//	+------+----------------+---------+
//	  'd'    at most 16 MiB   what the handler wrote
//	  'e'    0                the answer is complete
//	  'x'    at most 64 KiB   the JSON of a 409 or a 500: the handler failed
//
// No request is sent twice. Where an error is definite ([IsDefinite]), nothing
// was done; after every other error the request may have been carried out, in
// part or still to come.
package peer
