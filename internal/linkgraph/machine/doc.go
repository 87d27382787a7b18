// Package machine has what all parts of a graph of links share: the member's part, the options, and
// what lies in a partition.
//
// A [Machine] is embedded by each part. It is a member of package derived, which has the node and the
// machines of each partition.
package machine
