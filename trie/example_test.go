// Examples of tries, placements and rings.

package trie_test

import (
	"fmt"
	"log"

	"github.com/trefoildb/trefoil/trie"
)

// A space that begins as one segment is split at a key between two that are
// in it, and each version of the trie keeps its own answer.
func ExampleTrie_Split() {
	before := trie.New(1, 0)
	at := trie.Separator([]byte("http://a/alice"), []byte("http://a/bob"))
	after, err := before.Split(1, at, 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(before.Lookup([]byte("http://a/carol")))
	fmt.Println(after.Lookup([]byte("http://a/carol")))
	for s := range after.Range([]byte("http://a/a"), []byte("http://a/c")) {
		fmt.Println("in range:", s)
	}
	// Output:
	// 1@0["", end)
	// 2@0["http://a/b", end)
	// in range: 1@0["", "http://a/b")
	// in range: 2@0["http://a/b", end)
}

// Which machine a key belongs to: the trie gives its segment, the placement the
// machine of the segment's partition.
func ExamplePlacement() {
	alone := trie.MachineIDOf([16]byte{1})
	p, err := trie.NewPlacement([]trie.MachineID{alone}, trie.PlacementOptions{})
	if err != nil {
		log.Fatal(err)
	}
	t := trie.New(1, trie.HashPartition(1, p.Partitions()))
	fmt.Println(p.Owner(t.Lookup([]byte("http://a/alice"))) == alone)
	// Output:
	// true
}

// Two neighbours are taken clockwise from a machine, across the greatest ID.
func ExampleRing_After() {
	ring := trie.NewRing(0x30, 0x10, 0x20)
	for id := range ring.After(0x20) {
		fmt.Println(id)
	}
	// Output:
	// 0000000000000030
	// 0000000000000010
}
