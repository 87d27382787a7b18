// Package linklists reads lists, samples and degrees of a cluster's graph.
//
// [Reader] sends one request to each owner of lists (links/own), and merges the replies.
// [OwnedLists] replies at the owner. If an owner is down, whole lists come from copies. If no
// machine replies, the list is read from rows.
//
// # Kept lists
//
// An owner keeps lists packed in memory, with the count of changes of their rows. A kept list
// is valid while the count is the same. From it come the list, its degree and samples.
//
// A list of more than Options.LongList links is long. Only its degree and a sketch (package
// sample) are kept. They are made from its rows in parts, because the list must never be in
// memory as a whole. Each part is read under the view and the lease.
//
// # Split lists
//
// If several machines own parts of a list, each replies for its part. The caller adds the
// degrees, and takes the smallest links of all samples. The rows of one link in several graphs
// may be on both sides of a split. So a part has its first and its last link. If one link ends
// a part and starts the next, it counts once. The caller draws random samples of such lists
// itself, from rows.
//
// Under one view, a machine that has received the URL of a page gets requests with its UID
// alone (type places). It replies if it no longer knows the UID.
package linklists
