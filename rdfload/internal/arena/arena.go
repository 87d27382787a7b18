// Arrays outside the garbage collector's heap.

// Package arena has growing arrays outside the garbage collector's heap, for the dictionaries, quads
// and sorts of bulk loads. On Unix [New] reserves address space by mmap, and a page takes real memory
// when it is first written. Other systems have a slice of Go instead.
package arena

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Array is a growing array of pointer-free values outside the garbage collector's heap. Its address
// space is reserved at once, and a page counts only when it is first written. The memory of a load
// is therefore the content of its arrays, because the collector leaves no garbage in them. One
// goroutine at a time may use an array.
type Array[T any] struct {
	Data   []T // len: in use; cap: reserved
	region []byte
	high   int // the most values in use so far, as reported to Touch
}

// reserved is the address space of all arrays in bytes.
var reserved atomic.Int64

// Reserved returns the address space of all arrays in bytes. Tests compare it with 0 after a load.
func Reserved() int64 { return reserved.Load() }

// New reserves room for limit values.
func New[T any](limit int) (*Array[T], error) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	region, err := reserve(max(limit, 1) * size)
	if err != nil {
		return nil, fmt.Errorf("reserve memory for %d values of %d bytes: %w", limit, size, err)
	}
	reserved.Add(int64(len(region)))
	data := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(region))), max(limit, 1))
	return &Array[T]{Data: data[:0], region: region}, nil
}

// Touch records that n values are in use.
func (a *Array[T]) Touch(n int) { a.high = max(a.high, n) }

// Resident returns an estimate of the array's real memory in bytes.
func (a *Array[T]) Resident() int64 {
	var zero T
	return int64(a.high) * int64(unsafe.Sizeof(zero))
}

// Renew empties the array and releases its pages, but keeps its capacity.
func (a *Array[T]) Renew() error {
	limit := cap(a.Data)
	a.Release()
	fresh, err := New[T](limit)
	if err == nil {
		*a = *fresh
	}
	return err
}

// Release releases the memory. The array must not be used afterwards.
func (a *Array[T]) Release() {
	if a != nil && a.region != nil {
		reserved.Add(-int64(len(a.region)))
		unreserve(a.region)
		*a = Array[T]{}
	}
}
