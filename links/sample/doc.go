// Package sample draws samples of link lists: at random, or consistently. It is
// pure: no goroutine, clock, file or socket.
//
// A link list is a set of UIDs in ascending order without duplicates, as cells
// and their deltas return it. A sample of n is n of them, or all of them where
// there are no more than n, again in ascending order.
//
//   - A random sample has every subset of n with the same probability. It
//     depends on the seed, the page and the list only, so it is the same
//     whichever machine draws it, and in whichever batch. See [Random], and
//     [Reservoir] for lists that come as a stream.
//   - A consistent sample has the n targets u with the smallest uid.Mix(u):
//     the same for everybody, for ever. Of two lists it takes the common targets
//     together or not at all, so samples are about as similar as the lists are
//     (Broder et al., Min-wise Independent Permutations, STOC 1998). It is
//     unbiased as far as uid.Mix has nothing to do with the order of UIDs. See
//     [Consistent], and [Smallest] for streams.
//
// What may be drawn is said by a [Class]: all links, those to other hosts, or
// those to other domains. Others are left out before the sample is drawn, so a
// sample of n of a class has n links if the class has as many. A class is a
// property of the target's extent, and lists are sorted, so the hosts are asked
// about once for each run of targets of one extent, and never for [All].
//
// # Sketches
//
// A [Sketch] of a long list answers consistent samples of it without the list.
// For each class c it has a bound b(c), and its members are
//
//	{ u in the list : Mix(u) <= b(class of u) }
//
// where the class of u is the narrowest that the link is in. Bounds ascend from
// class to class: b(all) <= b(inter-host) <= b(inter-domain), as each class is
// part of the one before. So the sketch knows exactly which links of class c
// have a Mix up to b(c). Adding or deleting links keeps that true, and so does
// cutting members off by lowering bounds; a sample of n is right if n members
// of its class are left, or if b(c) is 2^64 - 1, that is, all of them are
// known. Otherwise the sketch says that it cannot tell, and the list itself is
// sampled. Deleting is the only way for a sketch to become short.
//
// A new sketch has the [SketchSize](d) smallest of each class for a list of d
// links: d/16, and 256 at most. That is at most half a byte for each link of the
// list if all links are of one class. Lists of up to [SketchDegree] links have
// no sketch: to sample one takes a few microseconds.
//
// # Encoding
//
// A [Table] holds the sketches of a cell's long lists in one direction, and is
// read where it lies. All numbers are little-endian, offsets are from the start:
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
// The members of a sketch begin where those of the sketch before it end, the
// first ones at 0, and the last end is m. A member's UID is uid.Unmix of it.
// Equal sketches have equal bytes. The checksum finds damage, not forgery, so
// [Open] checks the structure too, and trusts no number that it reads.
package sample
