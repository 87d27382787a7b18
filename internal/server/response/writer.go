// The writer of an answer: deadlines, compression, and headers of degraded answers.

package response

import (
	"net/http"
	"time"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/request"
)

// Writer is a ResponseWriter with the deadlines of a SlowLimit. It records the status sent.
type Writer struct {
	http.ResponseWriter
	Rc         *http.ResponseController
	SlowLimit  limits.SlowLimit
	Status     int                // 0: nothing was sent
	Bytes      int64              // sent, as compressed
	Body       *request.TimedBody // of the request; nil if it has none
	NoMajority func() bool        // of the cluster; nil if there is none
	source     degradable         // source of the answer; nil if it is never degraded
	warning    func() string
	wait       func(do func() error) error
	compression
}

// SetWait makes each write to the client run within wait, because other work may run meanwhile.
// Compression runs outside of it. A nil wait ends that.
func SetWait(w http.ResponseWriter, wait func(do func() error) error) {
	if r, ok := w.(*Writer); ok {
		r.wait = wait
	}
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// FlushError sends the buffered bytes, also those that an encoder holds. It is for
// http.ResponseController.
func (w *Writer) FlushError() error {
	if w.encoder != nil {
		if err := w.flush(); err != nil {
			return err
		}
	}
	return w.Rc.Flush()
}

func (w *Writer) WriteHeader(status int) {
	if w.Status != 0 {
		return
	}
	w.Status = status
	w.describe(status)
	w.begin(w.Header(), status, wire{w})
	_ = w.Rc.SetWriteDeadline(time.Now().Add(w.SlowLimit.Stall))
	w.ResponseWriter.WriteHeader(status)
}

// Write sends b, compressed if the client accepts it.
func (w *Writer) Write(b []byte) (int, error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.encoder != nil {
		return w.write(b)
	}
	return wire{w}.Write(b)
}

// wire is the connection of a Writer.
type wire struct{ *Writer }

// Write sends b as it is.
func (w wire) Write(b []byte) (written int, err error) {
	if w.wait == nil {
		return w.send(b)
	}
	err = w.wait(func() error {
		written, err = w.send(b)
		return err
	})
	return written, err
}

// send writes b in pieces, each under a deadline of its own.
func (w *Writer) send(b []byte) (int, error) {
	written := 0
	for {
		piece := b[:min(len(b), limits.PieceBytes)]
		start := time.Now()
		_ = w.Rc.SetWriteDeadline(start.Add(w.SlowLimit.Next()))
		n, err := w.ResponseWriter.Write(piece)
		w.SlowLimit.Done(n, time.Since(start))
		written += n
		w.Bytes += int64(n)
		b = b[n:]
		if err != nil || len(b) == 0 {
			// net/http sends its buffered bytes when the handler has ended.
			_ = w.Rc.SetWriteDeadline(time.Now().Add(w.SlowLimit.Stall))
			return written, err
		}
	}
}
