package rdfload

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// arena is a growing array of pointer-free values in memory of its own, outside
// the garbage collector's heap: its address space is reserved at once and its
// pages count only when they are first written. A load's memory is thereby what
// its arenas hold, not what the collector has left over.
type arena[T any] struct {
	data   []T // len: in use; cap: reserved
	region []byte
	high   int // values that were in use at a time, as touch was told
}

// reserved is the address space that all arenas hold, for tests.
var reserved atomic.Int64

// newArena reserves room for limit values.
func newArena[T any](limit int) (*arena[T], error) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	region, err := reserve(max(limit, 1) * size)
	if err != nil {
		return nil, fmt.Errorf("reserve memory for %d values of %d bytes: %w", limit, size, err)
	}
	reserved.Add(int64(len(region)))
	data := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(region))), max(limit, 1))
	return &arena[T]{data: data[:0], region: region}, nil
}

// touch notes that n values are in use.
func (a *arena[T]) touch(n int) { a.high = max(a.high, n) }

// resident returns about how many bytes of real memory the arena takes.
func (a *arena[T]) resident() int64 {
	var zero T
	return int64(a.high) * int64(unsafe.Sizeof(zero))
}

// renew empties the arena and gives its pages back, but keeps its room.
func (a *arena[T]) renew() error {
	limit := cap(a.data)
	a.release()
	fresh, err := newArena[T](limit)
	if err == nil {
		*a = *fresh
	}
	return err
}

// release gives the memory back. The arena must not be used any more.
func (a *arena[T]) release() {
	if a != nil && a.region != nil {
		reserved.Add(-int64(len(a.region)))
		unreserve(a.region)
		*a = arena[T]{}
	}
}
