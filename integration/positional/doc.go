// Package positional is the policy of UIDs that say where a page is kept: its
// partition, and its place there among the sorted IRIs. It is the placement of
// the Scalable Hyperlink Store (Najork, HT 2009, section 3) and of the patents
// on it, for those who keep such UIDs; package uid has the ones that outlast a
// change of the graph. All is pure: no goroutine, clock, file or socket.
//
// # Two placements
//
// A cluster of n machines, 0 to n-1, answers after the loss of any f of them,
// see [Policy]. The graph is stored twice, a host with all its pages always in
// one partition:
//
//	primary partitions    0 ... n-1      by the hash H(n) of the host
//	secondary partitions  0 ... n-f-1    by the hash H(n-f) of the host
//
// Each partition is on the disks of f+1 machines: partition k, of either kind,
// on machines k, k+1, ... k+f modulo n. One is in the memory of a machine:
//
//	no machine failed        machine x: primary partition x
//	F failed, 1 <= |F| <= f  machine x: secondary partition P(x), if it has one
//
//	f(x) = |{y in F : y < x}|                                      [Failed.Below]
//	P(x) = x - f(x), if x is not in F and x - f(x) < n - f         [Policy.Partition]
//	M(k) = the x with P(x) = k: the live machine with k live ones below
//	                                                               [Policy.Machine]
//
// A machine must have on its disk what it is to serve. It has: P(x) = k means x
// = k + f(x), and 0 <= f(x) <= f, so x is one of k ... k+f. There are failed sets
// for each of them, so each copy is of use; and k+f <= n-1, so secondary
// partitions never wrap around. A secondary placement that is shifted, or that
// has its copies elsewhere, would leave a partition without a server that has it.
//
// # UIDs
//
//	+-------------------+---------------------+-------------------------------+
//	| primary partition | secondary partition | relative: place in partition  |
//	+-------------------+---------------------+-------------------------------+
//
// The widths are those of a [Layout], 8, 8 and 48 bits if not said otherwise.
// Both placements have UIDs (p, s, r) with the same p and s for a page, and
// different r: its place in primary partition p, or in secondary partition s.
// Clients see primary UIDs only. In degraded mode the clerk finds the machine by
// s, and the machine translates on the way in and on the way out, so a client
// does not notice which mode it is: UIDs from before a failure go on to name the
// same pages.
//
// A host's pages are neighbours in both partitions and in the same order. So one
// row for each host translates: ([PrimToSec], [SecToPrim])
//
//	(p, s, r') -> r''      of the host's first page
//	(p, s, r)  -> (p, s, r - r' + r'')      by the greatest row with r' <= r
//
// A machine keeps the rows of its secondary partition for the way in, and all
// rows, ordered by secondary partition and place, for the way out: the target of
// a link may be anywhere.
//
// # Lists
//
// A list of links is ascending and without duplicates, as differences: the first
// target less the source, then the gaps. See [AppendList]:
//
//	+------------------+------------------+-----+
//	| varint, zigzag   | uvarint, >= 1    | ... |      to the end of the list
//	+------------------+------------------+-----+
//	| first - source   | second - first   | ... |
//	+------------------+------------------+-----+
package positional
