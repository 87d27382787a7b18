// Package pagerows reads pages from the rows of the store: their UIDs, which are triples of the system
// graph, the links between them, and the hosts of extents ([Hosts]).
package pagerows
