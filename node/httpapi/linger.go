// Early answers: a request that is refused before its body has come is answered at
// once, and what its client still sends is read for a while and thrown away. A
// connection that is closed with unread bytes is reset, and a client that is still
// writing then gets that instead of the answer (RFC 9112, section 9.6).

package httpapi

import (
	"io"
	"net/http"
	"time"
)

// lingerTimeout and lingerBytes bound what is read after an early answer,
// leftoverTimeout what net/http reads by itself.
var (
	lingerTimeout   = 10 * time.Second // variables for tests
	leftoverTimeout = time.Second
)

const (
	lingerBytes = 256 << 20
	// smallBody is what net/http itself reads before it sends an early answer. The
	// connection then goes on.
	smallBody = 256 << 10
)

// mustLinger prepares an early answer to a request whose body is not small: it is
// sent at once, and the connection is closed after it. net/http must not take what
// is left of the body for the next request.
func (b *timedBody) mustLinger(h http.Header, r *http.Request) {
	if b == nil || b.ended || r.ContentLength >= 0 && r.ContentLength <= smallBody && !b.withheld(r) {
		return
	}
	h.Set("Connection", "close")
	b.early = b.rc.EnableFullDuplex() == nil // a recorder in a test has none
}

// withheld reports whether the client waits for a word before it sends the body, and
// has not got it.
func (b *timedBody) withheld(r *http.Request) bool {
	return !b.begun && r.Header.Get("Expect") != ""
}

// linger reads what is left of the body, if the answer came early, its client has
// begun to send and the node does not shut down.
func (b *timedBody) linger(w *response, r *http.Request, draining bool) {
	if b == nil || b.ended {
		return
	}
	if b.early && !draining && !b.withheld(r) && !b.slow && w.rc.Flush() == nil {
		end := time.Now().Add(lingerTimeout)
		_ = b.rc.SetReadDeadline(end)
		_ = b.rc.SetWriteDeadline(end.Add(w.slowLimit.stall))
		// timedBody.Read would give each piece a deadline of its own.
		_, _ = io.CopyN(io.Discard, b.ReadCloser, lingerBytes) // an error ends it as well
	}
	// net/http may read for this long before it sends the header or closes.
	_ = b.rc.SetReadDeadline(time.Now().Add(leftoverTimeout))
	_ = b.rc.SetWriteDeadline(time.Now().Add(2*leftoverTimeout + w.slowLimit.stall))
}
