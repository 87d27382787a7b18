// What the indexes that follow the change feed have in common.

// Package derived is for indexes that each machine makes from the triples of a whole cluster, as the
// link graph and text search.
//
// An index is divided into partitions, and each machine holds some of them. It follows the feed with
// its own cells or segments; this package has the rest. A [Member] is one machine's part: its [Node]
// (a lone store is one, too), its life, and the end of the feed that a read must have seen. A
// [Placement] ranks the machines of each partition. [Peers] has the partitions of the others and
// the machines that are down; [Peers.Gather] gets the answers of all partitions, and tries elsewhere what fails.
package derived
