// Readers that keep the cause of an error: of a document that is sent, and of an answer's body.

package client

import (
	"context"
	"fmt"
	"io"
	"sync"
)

// cancellableBody is the body of an answer. An error of Read wraps that of ctx if ctx has ended:
// net/http may return only that the connection is closed, because the cancellation closes it while
// the body is read.
type cancellableBody struct {
	io.ReadCloser
	ctx context.Context
}

func (b *cancellableBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", b.ctx.Err(), err)
	}
	return n, err
}

// reportingReader keeps the error of reading a document, because net/http hides it behind that of the
// broken request. The transport reads in its own goroutine.
type reportingReader struct {
	r   io.Reader
	mu  sync.Mutex
	err error
}

func (t *reportingReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.mu.Lock()
		t.err = err
		t.mu.Unlock()
	}
	return n, err
}

func (t *reportingReader) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
