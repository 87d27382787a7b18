// Arenas: growing arrays outside the garbage collector's heap.

package rdfload

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// arena is a growing array of pointer-free values outside the garbage collector's heap. Its address
// space is reserved at once, and a page counts only when it is first written. The memory of a load
// is therefore the content of its arenas, because the collector leaves no garbage in them.
type arena[T any] struct {
	data   []T // len: in use; cap: reserved
	region []byte
	high   int // the most values in use so far, as reported to touch
}

// reserved is the address space of all arenas in bytes, for tests.
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

// touch records that n values are in use.
func (a *arena[T]) touch(n int) { a.high = max(a.high, n) }

// resident returns an estimate of the arena's real memory in bytes.
func (a *arena[T]) resident() int64 {
	var zero T
	return int64(a.high) * int64(unsafe.Sizeof(zero))
}

// renew empties the arena and releases its pages, but keeps its capacity.
func (a *arena[T]) renew() error {
	limit := cap(a.data)
	a.release()
	fresh, err := newArena[T](limit)
	if err == nil {
		*a = *fresh
	}
	return err
}

// release releases the memory. The arena must not be used afterwards.
func (a *arena[T]) release() {
	if a != nil && a.region != nil {
		reserved.Add(-int64(len(a.region)))
		unreserve(a.region)
		*a = arena[T]{}
	}
}
