// A listener that has at most so many connections open.

package httpapi

import (
	"crypto/tls"
	"net"
	"sync"
)

// limitConnections returns a listener that accepts from ln while fewer than max
// of its connections are open; the others wait in the system's queue.
func limitConnections(ln net.Listener, max int) net.Listener {
	return &limitedListener{Listener: ln, slots: make(chan struct{}, max), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	slots  chan struct{} // has an element for each open connection
	closed chan struct{}
	once   sync.Once
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	limited := &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}
	if secure, ok := conn.(secureConn); ok {
		return &limitedSecureConn{limited, secure}, nil
	}
	return limited, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite lets net/http end an answer before it has read the whole request.
func (c *limitedConn) CloseWrite() error {
	if conn, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return nil
}

// secureConn is a connection under TLS.
type secureConn interface {
	ConnectionState() tls.ConnectionState
}

// limitedSecureConn tells net/http, and so [http.Request.TLS], that there is TLS:
// the type of a connection alone does.
type limitedSecureConn struct {
	*limitedConn
	secure secureConn
}

func (c *limitedSecureConn) ConnectionState() tls.ConnectionState { return c.secure.ConnectionState() }
