//go:build !unix

// Arenas on systems without mmap.

package arena

// reserve falls back to the garbage collector's heap.
func reserve(bytes int) ([]byte, error) { return make([]byte, bytes), nil }

func unreserve([]byte) {}
