// Without cgo, Pebble has its cache and memtables in Go's heap.

//go:build !cgo

package memory

const cacheOutsideHeap = false
