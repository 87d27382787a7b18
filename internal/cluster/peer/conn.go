// Connections of a client: whether anything of a request was sent.

package peer

import (
	"net"
	"net/http/httptrace"
	"sync"
)

// conn counts the writes that begin.
type conn struct {
	net.Conn

	mu     sync.Mutex
	writes uint64
	sealed bool // writes fail from now on
}

func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	if c.sealed {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	c.writes++
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// attempts are the connections given to one request. net/http goes on to another one if the
// first, kept alive, was closed before anything was written.
type attempts []attempt

type attempt struct {
	conn   *conn
	writes uint64 // of the connection, before the request
}

// got is httptrace's GotConn.
func (a *attempts) got(info httptrace.GotConnInfo) {
	c := info.Conn.(*conn)
	c.mu.Lock()
	defer c.mu.Unlock()
	*a = append(*a, attempt{c, c.writes})
}

// unsent reports, after the request failed, whether nothing of it was sent. It
// sees to it that nothing will be.
func (a attempts) unsent() bool {
	unsent := true
	for _, t := range a {
		t.conn.mu.Lock()
		t.conn.sealed = true
		unsent = unsent && t.conn.writes == t.writes
		t.conn.mu.Unlock()
	}
	return unsent
}
