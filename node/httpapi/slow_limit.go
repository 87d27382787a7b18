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

// slowLimit bounds the waits for a client. The next one may last for stall, less the time
// for which the client was slower than rate until now. Time of the server does not count.
type slowLimit struct {
	stall time.Duration // the longest wait for one piece
	rate  int64         // bytes a second, at which nothing is lost

	lost time.Duration // of stall, by a slow client. Invariant: 0 <= lost
}

// next returns how long the next piece may take.
func (p *slowLimit) next() time.Duration { return max(p.stall-p.lost, 0) }

func (p *slowLimit) done(n int, took time.Duration) {
	earned := time.Duration(float64(n) / float64(p.rate) * float64(time.Second))
	p.lost = max(p.lost+took-earned, 0)
}

// timedBody is a request's body that is read with deadlines of a slowLimit.
type timedBody struct {
	io.ReadCloser
	rc        *http.ResponseController
	slowLimit slowLimit
	begun     bool // it was read
	ended     bool
	slow      bool // reading it ran into its deadline
	early     bool // the answer was sent before its end
}

func (b *timedBody) Read(p []byte) (int, error) {
	if len(p) > pieceBytes {
		p = p[:pieceBytes]
	}
	if b.ended {
		return b.ReadCloser.Read(p)
	}
	b.begun = true
	start := time.Now()
	_ = b.rc.SetReadDeadline(start.Add(b.slowLimit.next())) // a recorder in a test has none
	n, err := b.ReadCloser.Read(p)
	b.slowLimit.done(n, time.Since(start))
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

// response is a ResponseWriter with deadlines of a slowLimit that knows what was sent.
type response struct {
	http.ResponseWriter
	rc        *http.ResponseController
	slowLimit slowLimit
	status    int        // 0: nothing was sent
	body      *timedBody // of the request; nil if it has none
	cluster   Cluster    // that this node is a member of, or may be
	source    degradable // what the answer is read from; nil where that is never degraded
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
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.slowLimit.stall))
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
		_ = w.rc.SetWriteDeadline(start.Add(w.slowLimit.next()))
		n, err := w.ResponseWriter.Write(piece)
		w.slowLimit.done(n, time.Since(start))
		written += n
		b = b[n:]
		if err != nil || len(b) == 0 {
			// What net/http has buffered goes out when the handler has ended.
			_ = w.rc.SetWriteDeadline(time.Now().Add(w.slowLimit.stall))
			return written, err
		}
	}
}
