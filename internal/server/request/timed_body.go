// Bodies of requests with deadlines.

package request

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
)

// TimedBody is a request's body. Each read has a deadline of its SlowLimit.
type TimedBody struct {
	io.ReadCloser
	Rc        *http.ResponseController
	SlowLimit limits.SlowLimit
	begun     bool // it was read
	ended     bool
	slow      bool // reading it ran into its deadline
	early     bool // the answer was sent before its end
}

func (b *TimedBody) Read(p []byte) (int, error) {
	if len(p) > limits.PieceBytes {
		p = p[:limits.PieceBytes]
	}
	if b.ended {
		return b.ReadCloser.Read(p)
	}
	b.begun = true
	start := time.Now()
	_ = b.Rc.SetReadDeadline(start.Add(b.SlowLimit.Next())) // a recorder in a test has none
	n, err := b.ReadCloser.Read(p)
	b.SlowLimit.Done(n, time.Since(start))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.slow = true
		return n, slowBody(err)
	case err != nil:
		// From here on the server only watches if the client goes away. A deadline would look like
		// that.
		b.ended = true
		_ = b.Rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

func slowBody(cause error) error {
	e := problem.Errorf(problem.KindTimeout, "", "the request's body came too slowly")
	e.Cause = cause
	return e
}
