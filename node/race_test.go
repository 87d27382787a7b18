//go:build race

package node

// raced: the race detector is on. Pebble then checks all its invariants, and is
// ten times slower: the longest tests do less.
const raced = true
