package rdfload

import (
	"fmt"
	"unsafe"
)

// arena is a growing array of pointer-free values in memory of its own, outside
// the garbage collector's heap: its address space is reserved at once and its
// pages count only when they are first written. A load's memory is thereby what
// its arenas hold, not what the collector has left over.
type arena[T any] struct {
	data   []T // len: in use; cap: reserved
	region []byte
}

// newArena reserves room for limit values.
func newArena[T any](limit int) (*arena[T], error) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	region, err := reserve(max(limit, 1) * size)
	if err != nil {
		return nil, fmt.Errorf("reserve memory for %d values of %d bytes: %w", limit, size, err)
	}
	data := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(region))), max(limit, 1))
	return &arena[T]{data: data[:0], region: region}, nil
}

// release gives the memory back. The arena must not be used any more.
func (a *arena[T]) release() {
	if a != nil && a.region != nil {
		unreserve(a.region)
		a.region, a.data = nil, nil
	}
}
