// With cgo, Pebble has its cache and memtables outside of Go's heap.

//go:build cgo

package memory

const cacheOutsideHeap = true
