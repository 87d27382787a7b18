// Bodies held whole, in pooled chunks.

package response

import (
	"fmt"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"

	"github.com/trefoildb/trefoil/internal/server/limits"
)

// MaxPageBytes is the most bytes of items on a page. If the first item alone has more, the page
// holds only that item.
const MaxPageBytes = 16 << 20

// ChunkBytes is the size of pooled buffers.
const ChunkBytes = 64 << 10

var chunks = sync.Pool{New: func() any { b := make([]byte, 0, ChunkBytes); return &b }}

// PagedBody is a body that is complete before its header is sent. An account pays for its chunks.
// It must be used by one goroutine only, and Release must be called.
type PagedBody struct {
	Account *limits.Account
	chunks  []*[]byte
	Bytes   int
}

func NewPagedBody(a *limits.Account) *PagedBody { return &PagedBody{Account: a} }

// Write appends b. It fails if the account cannot grow.
func (p *PagedBody) Write(b []byte) (int, error) {
	written := len(b)
	for len(b) > 0 {
		if len(p.chunks) == 0 || len(*p.chunks[len(p.chunks)-1]) == ChunkBytes {
			if err := p.Account.Grow(ChunkBytes); err != nil {
				return 0, err
			}
			chunk := chunks.Get().(*[]byte)
			*chunk = (*chunk)[:0]
			p.chunks = append(p.chunks, chunk)
		}
		last := p.chunks[len(p.chunks)-1]
		n := min(len(b), ChunkBytes-len(*last))
		*last = append(*last, b[:n]...)
		b = b[n:]
	}
	p.Bytes += written
	return written, nil
}

// Tag returns an entity tag of the body.
func (p *PagedBody) Tag() string {
	sum := xxhash.New()
	for _, chunk := range p.chunks {
		_, _ = sum.Write(*chunk) // never fails
	}
	return fmt.Sprintf(`"%016x"`, sum.Sum64())
}

// SendTo writes the body to w.
func (p *PagedBody) SendTo(w io.Writer) error {
	for _, chunk := range p.chunks {
		if _, err := w.Write(*chunk); err != nil {
			return err
		}
	}
	return nil
}

// Release returns the chunks to the pool and their bytes to the budget.
func (p *PagedBody) Release() {
	for _, chunk := range p.chunks {
		chunks.Put(chunk)
	}
	p.chunks = nil
	p.Account.Release()
}
