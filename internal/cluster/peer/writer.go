// The server: the frames of a stream.

package peer

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// out writes an answer, piece by piece, each of which the client must take within
// stall. Deadlines are never lifted: the next piece sets the next.
type out struct {
	w       http.ResponseWriter
	control *http.ResponseController
	stall   time.Duration
	started bool  // the status is sent
	err     error // of the connection: nothing can be sent any more
}

func (o *out) Write(p []byte) (n int, err error) {
	for n < len(p) && o.err == nil {
		o.deadline()
		m, err := o.w.Write(p[n:min(len(p), n+piece)])
		n += m
		o.err = err
	}
	return n, o.err
}

func (o *out) flush() error {
	if o.err == nil {
		o.deadline()
		o.err = o.control.Flush()
	}
	return o.err
}

func (o *out) deadline() {
	o.started = true
	o.err = o.control.SetWriteDeadline(time.Now().Add(o.stall))
}

var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// A Writer takes the frames of a stream. It is its handler's until that returns,
// and for one goroutine at a time.
type Writer struct {
	ctx context.Context
	out *out
	buf *bufio.Writer
}

func newWriter(ctx context.Context, o *out) *Writer {
	buf := buffers.Get().(*bufio.Writer)
	buf.Reset(o)
	return &Writer{ctx, o, buf}
}

// Write adds a frame of at most MaxFrame bytes and keeps nothing of it. Frames
// are sent when 64 KiB have come together, at Flush, and when the handler
// returns. It waits for as long as the client takes nothing, up to
// [Options].StallTimeout.
func (w *Writer) Write(frame []byte) error {
	if len(frame) > MaxFrame {
		return fmt.Errorf("peer: a frame of %d bytes, above the limit of %d", len(frame), MaxFrame)
	}
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return writeFrame(w.buf, frameData, frame)
}

// Flush sends the written bytes. If a handler is going to wait, it must call Flush first.
func (w *Writer) Flush() error {
	if err := w.buf.Flush(); err != nil {
		return err
	}
	return w.out.flush()
}

// end sends the last frame.
func (w *Writer) end(kind byte, content []byte) error {
	if err := writeFrame(w.buf, kind, content); err != nil {
		return err
	}
	return w.Flush()
}

func (w *Writer) release() {
	w.buf.Reset(nil)
	buffers.Put(w.buf)
	w.buf = nil
}
