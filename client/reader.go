// A reader that reports whether it failed.

package client

import (
	"io"
	"sync"
)

// tellingReader keeps the error that reading a document met, which net/http hides
// behind that of the broken request. The transport reads in a goroutine of its own.
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
