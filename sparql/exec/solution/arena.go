// Memory for bindings, in chunks.

package solution

import (
	"unsafe"
)

// Arena holds bindings in chunks filled once and never written again.
type Arena struct{ chunk []byte }

const (
	firstChunk = 1 << 10
	chunkBytes = 64 << 10
)

// Copy returns a copy of b.
func (a *Arena) Copy(b []byte) string {
	if len(b) > cap(a.chunk)-len(a.chunk) {
		if len(b) > chunkBytes/8 {
			return string(b)
		}
		a.chunk = make([]byte, 0, min(max(2*cap(a.chunk), firstChunk), chunkBytes))
		if len(b) > cap(a.chunk) {
			a.chunk = make([]byte, 0, chunkBytes)
		}
	}
	start := len(a.chunk)
	a.chunk = append(a.chunk, b...)
	return unsafe.String(unsafe.SliceData(a.chunk[start:]), len(b))
}
