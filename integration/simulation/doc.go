// Command simulation computes, without any process, how a cluster of many machines
// would be: how evenly versions, extra replicas and repairs spread, what moves when
// a machine is lost or joins, and how long that takes on a network of so many bits
// a second. Placement, slots and repairs are those of the real cluster, packages
// trie and recovery, over a sample of real keys.
//
//	go run ./integration/simulation [-machines 10,100,1000] [-triples N] [-segments N] [-held BYTES] [-network BITS]
package main
