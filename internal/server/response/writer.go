// The writer of an answer: deadlines, and headers of degraded answers.

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
	Body       *request.TimedBody // of the request; nil if it has none
	NoMajority func() bool        // of the cluster; nil if there is none
	source     degradable         // source of the answer; nil if it is never degraded
}

// Unwrap is for http.ResponseController.
func (w *Writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends the buffered bytes.
func (w *Writer) Flush() { _ = w.Rc.Flush() }

func (w *Writer) WriteHeader(status int) {
	if w.Status != 0 {
		return
	}
	w.Status = status
	w.tellDegraded(status)
	_ = w.Rc.SetWriteDeadline(time.Now().Add(w.SlowLimit.Stall))
	w.ResponseWriter.WriteHeader(status)
}

// Write writes b in pieces, each under a deadline of its own.
func (w *Writer) Write(b []byte) (int, error) {
	if w.Status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	written := 0
	for {
		piece := b[:min(len(b), limits.PieceBytes)]
		start := time.Now()
		_ = w.Rc.SetWriteDeadline(start.Add(w.SlowLimit.Next()))
		n, err := w.ResponseWriter.Write(piece)
		w.SlowLimit.Done(n, time.Since(start))
		written += n
		b = b[n:]
		if err != nil || len(b) == 0 {
			// net/http sends its buffered bytes when the handler has ended.
			_ = w.Rc.SetWriteDeadline(time.Now().Add(w.SlowLimit.Stall))
			return written, err
		}
	}
}
