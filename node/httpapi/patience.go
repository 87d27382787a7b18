// Deadlines that follow progress: a client that keeps a pace may take as long as
// it needs, one that stalls or trickles is cut off.

package httpapi

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// pieceBytes is how much of a body is read or written under one deadline.
const pieceBytes = 64 << 10

// patience is how long the peer may keep us waiting: at most stall, less what it
// has kept us waiting, more what it has earned by moving bytes. Time that we spend
// ourselves does not count.
type patience struct {
	stall time.Duration // the longest wait for one piece
	rate  int64         // bytes a second that keep patience as it is

	lost time.Duration // Invariant: 0 <= lost
}

// next returns how long the next piece may take.
func (p *patience) next() time.Duration { return max(p.stall-p.lost, 0) }

func (p *patience) done(n int, took time.Duration) {
	earned := time.Duration(float64(n) / float64(p.rate) * float64(time.Second))
	p.lost = max(p.lost+took-earned, 0)
}

// patientBody is a request's body under patience.
type patientBody struct {
	io.ReadCloser
	rc       *http.ResponseController
	patience patience
	begun    bool // it was read
	ended    bool
	slow     bool // reading it ran into its deadline
	early    bool // the answer was sent before its end
}

func (b *patientBody) Read(p []byte) (int, error) {
	if len(p) > pieceBytes {
		p = p[:pieceBytes]
	}
	if b.ended {
		return b.ReadCloser.Read(p)
	}
	b.begun = true
	start := time.Now()
	_ = b.rc.SetReadDeadline(start.Add(b.patience.next())) // a recorder in a test has none
	n, err := b.ReadCloser.Read(p)
	b.patience.done(n, time.Since(start))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.slow = true
		return n, slowBody(err)
	case err != nil:
		// From here on the server only watches for the client's going away, and a
		// deadline would look like it.
		b.ended = true
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

func slowBody(cause error) error {
	e := errorf(KindTimeout, "", "the request's body came too slowly")
	e.cause = cause
	return e
}

// response is a ResponseWriter under patience that knows what was sent.
type response struct {
	http.ResponseWriter
	rc       *http.ResponseController
	patience patience
	status   int          // 0: nothing was sent
	body     *patientBody // of the request; nil if it has none
	cluster  Cluster      // that this node is a member of, or may be
	source   degradable   // what the answer is read from; nil where that is never degraded
}

// Unwrap is for http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush sends what is buffered.
func (w *response) Flush() { _ = w.rc.Flush() }

func (w *response) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.tellDegraded(status)
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.patience.stall))
	w.ResponseWriter.WriteHeader(status)
}

// Write writes b in pieces, each under a deadline of its own.
func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	written := 0
	for {
		piece := b[:min(len(b), pieceBytes)]
		start := time.Now()
		_ = w.rc.SetWriteDeadline(start.Add(w.patience.next()))
		n, err := w.ResponseWriter.Write(piece)
		w.patience.done(n, time.Since(start))
		written += n
		b = b[n:]
		if err != nil || len(b) == 0 {
			// What net/http has buffered goes out when the handler has ended.
			_ = w.rc.SetWriteDeadline(time.Now().Add(w.patience.stall))
			return written, err
		}
	}
}
