// Package path is the operator of repeated property paths (SPARQL 1.1 Query, section 18.4).
//
// A [Join] starts searches from the bound ends of its input. A walker follows the path from a
// level of nodes to the next, with a batch of look-ups for each level.
package path
