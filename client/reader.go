// A reader that remembers its error.

package client

import (
	"io"
	"sync"
)

// tellingReader keeps the error of reading a document, because net/http hides it behind that of the
// broken request. The transport reads in its own goroutine.
type tellingReader struct {
	r   io.Reader
	mu  sync.Mutex
	err error
}

func (t *tellingReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.mu.Lock()
		t.err = err
		t.mu.Unlock()
	}
	return n, err
}

func (t *tellingReader) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
