// Package pagerows reads and moves pages in the rows of the store: triples of UIDs and of hosts, in the
// system graph or as earlier releases wrote them ([Forms]), and the hosts of extents ([Hosts]).
package pagerows
