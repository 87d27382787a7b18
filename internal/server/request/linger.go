// Early answers. If a request is rejected before its body has arrived, it is answered at once. The
// rest of the body is read for a while and dropped. If a connection is closed with unread bytes, it
// is reset, and a client that still writes gets the reset instead of the answer (RFC 9112, section
// 9.6).

package request

import (
	"io"
	"net/http"
	"time"
)

// LingerTimeout and lingerBytes bound the reading after an early answer. LeftoverTimeout bounds
// what net/http reads by itself.
var (
	LingerTimeout   = 10 * time.Second // variables for tests
	LeftoverTimeout = time.Second
)

const (
	lingerBytes = 256 << 20
	// smallBody is the amount that net/http itself reads before it sends an early answer. The
	// connection then stays open.
	smallBody = 256 << 10
)

// MustLinger prepares an early answer to a request if its body is not small. The answer is sent at
// once, and then the connection is closed, because net/http must not take the rest of the body for
// the next request.
func (b *TimedBody) MustLinger(h http.Header, r *http.Request) {
	if b == nil || b.ended || r.ContentLength >= 0 && r.ContentLength <= smallBody && !b.withheld(r) {
		return
	}
	h.Set("Connection", "close")
	b.early = b.Rc.EnableFullDuplex() == nil // a recorder in a test has none
}

// withheld reports whether the client waits for 100 Continue before it sends the body, and has not
// got it.
func (b *TimedBody) withheld(r *http.Request) bool {
	return !b.begun && r.Header.Get("Expect") != ""
}

// Linger reads the rest of the body if the answer was early, the client has begun to send and the
// node does not shut down.
func (b *TimedBody) Linger(r *http.Request, draining bool) {
	if b == nil || b.ended {
		return
	}
	if b.early && !draining && !b.withheld(r) && !b.slow && b.Rc.Flush() == nil {
		end := time.Now().Add(LingerTimeout)
		_ = b.Rc.SetReadDeadline(end)
		_ = b.Rc.SetWriteDeadline(end.Add(b.SlowLimit.Stall))
		// timedBody.Read would give each piece a deadline of its own.
		_, _ = io.CopyN(io.Discard, b.ReadCloser, lingerBytes) // an error ends it as well
	}
	// net/http may read for this long before it sends the header or closes.
	_ = b.Rc.SetReadDeadline(time.Now().Add(LeftoverTimeout))
	_ = b.Rc.SetWriteDeadline(time.Now().Add(2*LeftoverTimeout + b.SlowLimit.Stall))
}
