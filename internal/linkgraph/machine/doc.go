// Package machine has what all parts of a graph of links share: the node, the options, the life of the
// graph, and which machines hold which partitions.
//
// A [Machine] is embedded by each part. Its [Node] has the triples and the cluster; under each view a
// [Placement] ranks the machines of a partition.
package machine
