// Package sample draws samples of link lists: at random, or consistently. It is pure: no
// goroutine, clock, file or socket.
//
// A link list is a set of UIDs in ascending order without duplicates, as cells and their deltas
// return it. A sample of n is n of them, again in ascending order. If there are no more than n,
// it is all.
//
//   - A random sample is each subset of n with the same probability. It depends only on the seed,
//     the page and the list. So it is the same on every machine and in every batch. See [Random].
//   - A consistent sample is the n targets u with the smallest uid.Mix(u). It is the same
//     everywhere, for ever. If two lists share targets, their samples take each of these together
//     or not at all. So samples are about as similar as the lists (Broder et al., Min-wise
//     Independent Permutations, STOC 1998). It is unbiased if uid.Mix is independent of the order
//     of UIDs. See [Consistent].
//
// A [Class] limits a sample: to all links, those to other hosts, or those to other domains. Other
// links are left out before the sample is drawn. So a sample of n has n links if the class has
// that many. A class is a property of the target's extent, and lists are sorted. So Hosts is
// called once for each run of targets of one extent, and never for [All].
//
// # Sketches
//
// A [Sketch] of a long list answers consistent samples without the list. For each class c it has
// a bound b(c), and its members are
//
//	{ u in the list : Mix(u) <= b(class of u) }
//
// where the class of u is the narrowest class of the link. Bounds must ascend from class to
// class, because each class is part of the one before: b(all) <= b(inter-host) <=
// b(inter-domain). So the sketch has exactly the links of class c with a Mix up to b(c). Adding
// or deleting links keeps this true, and so does cutting members off by lowering bounds. A sample
// of n is right if n members of its class are left. It is also right if b(c) is 2^64 - 1, because
// the sketch then has the whole class. Otherwise the sketch reports false, and the list itself
// must be sampled. A sketch becomes short only when links are deleted.
//
// A new sketch has the [SketchSize](d) smallest of each class for a list of d links: d/16, and
// 256 at most. If all links are of one class, it takes at most half a byte for each link of the
// list. Lists of up to [SketchDegree] links have no sketch, because sampling one takes a few
// microseconds.
//
// # Encoding
//
// A [Table] holds the sketches of a cell's long lists in one direction, and is read in place. All
// numbers are little-endian, offsets are from the start:
//
//	+-----+-----+-----+-----+------+----+----+----+
//	| 't'   'f'   'S'   'K' | 0x01 |  0    0    0 |   magic, version
//	+-----+-----+-----+-----+------+----+----+----+
//	| u32 n                 | u32 m               |   sketches, members in all
//	+-----------------------+---------------------+
//	| n times 40 bytes, ascending by key:         |
//	|   u32 key             | u32 end             |   end: of its members
//	|   u64 b(all)                                |
//	|   u64 b(inter-host)                         |
//	|   u64 b(inter-domain)                       |
//	|   u64 0                                     |
//	+---------------------------------------------+
//	| m times u64                                 |   Mix, ascending in a sketch
//	+---------------------------------------------+
//	| m times 2 bits, lowest first                |   class: 0 all, 1 inter-host,
//	| zeros to the next multiple of 8             |   2 inter-domain
//	+---------------------------------------------+
//	| u64                                         |   xxhash64 of all before it
//	+---------------------------------------------+
//
// The members of a sketch begin at the end of the sketch before it. The first ones begin at 0,
// and the last end must be m. A member's UID is uid.Unmix of it. Equal sketches have equal bytes.
// [Open] checks the structure too and trusts no number, because the checksum finds damage but not
// forgery.
package sample
