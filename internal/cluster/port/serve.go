// Telling connections apart, and handing them to their listeners.

package port

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/soheilhy/cmux"
)

// warnEvery is the least time between warnings of a refused connection, because a refused node
// tries again and again.
const warnEvery = 10 * time.Second

// Serve lets connections in until Close, when it returns nil. It runs once.
func (p *Port) Serve() error {
	if err := p.start(); err != nil {
		return err
	}
	defer p.running.Done()
	mux := cmux.New(root{p.streams, p})
	mux.SetReadTimeout(p.timeout)
	mux.HandleError(func(err error) bool {
		if _, stranger := err.(cmux.ErrNotMatched); stranger {
			p.rejected.Add(1)
			p.log.Debug("a connection did not show what it is", "error", err)
		}
		return true
	})
	nodes, rest := mux.Match(isNode), mux.Match(isOther)
	p.running.Go(func() { p.each(nodes, p.greet) })
	p.running.Go(func() { p.each(rest, p.serveHTTP) })
	err := mux.Serve()
	if p.isClosed() {
		return nil
	}
	return err
}

func (p *Port) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.isClosed():
		return net.ErrClosed
	case p.serving:
		return errors.New("port: served already")
	}
	p.serving = true
	p.running.Add(1)
	return nil
}

// isNode reports whether a connection begins with the magic, and isOther whether it does not.
// They read no more bytes than necessary. Both return false if the connection does not show it in
// time.
func isNode(r io.Reader) bool  { is, shown := begins(r); return shown && is }
func isOther(r io.Reader) bool { is, shown := begins(r); return shown && !is }

func begins(r io.Reader) (is, shown bool) {
	var b [len(magic)]byte
	for n := 0; n < len(b); {
		k, err := r.Read(b[n:])
		n += k
		if string(b[:n]) != magic[:n] {
			return false, true
		}
		if n < len(b) && err != nil {
			return false, false
		}
	}
	return true, true
}

// each hands the connections of a multiplexer's listener on, each in a goroutine
// of its own; their number is bounded.
func (p *Port) each(l net.Listener, handle func(*cmux.MuxConn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return // the multiplexer has ended
		}
		p.running.Go(func() { handle(c.(*cmux.MuxConn)) })
	}
}

var (
	errFull     = errors.New("too many connections")
	errPushed   = errors.New("it was the one that had been idle for longest when there was no room for another")
	errUnserved = errors.New("this node takes no connections of this kind now")

	errClosedHere = errors.New("this node takes part in no cluster: it listens beyond loopback or has users, and has neither certificates nor a gossip key; " +
		"start it with --ca, --cert and --key, or with --gossip-key-file")
)

// underlying returns the connection under TLS, and the TLS connection if there is one.
func underlying(c *cmux.MuxConn) (*conn, *tls.Conn) {
	if secure, ok := c.Conn.(*tls.Conn); ok {
		return secure.NetConn().(*conn), secure
	}
	return c.Conn.(*conn), nil
}

// serveHTTP hands a connection to HTTP's listener.
func (p *Port) serveHTTP(c *cmux.MuxConn) {
	raw, secure := underlying(c)
	if !p.conns.becomeWeb(raw) {
		p.drop(c, errFull)
		return
	}
	if !p.http.reserve() {
		p.drop(c, errUnserved)
		return
	}
	raw.SetDeadline(time.Time{})
	var out net.Conn = &webConn{c, c.Conn, raw}
	if secure != nil {
		out = &secureConn{webConn{c, c.Conn, raw}, secure}
	}
	if !p.http.offer(out, p.timeout) {
		p.drop(c, errUnserved)
	}
}

// greet receives the hello of a connection and hands it to the listener of its kind. The
// multiplexer has read only the magic, so its buffer is empty.
func (p *Port) greet(c *cmux.MuxConn) {
	raw, secure := underlying(c)
	raw.SetDeadline(time.Now().Add(p.timeout))
	if secure != nil {
		if err := p.credentials.current().checkNode(secure.ConnectionState(), p.cluster()); err != nil {
			p.drop(c, err)
			return
		}
	}
	// 1. Receive and check the hello.
	h, err := house{p.closed, p.cluster(), p.clusterID(), p.secret}.receive(c.Conn)
	if err != nil {
		p.drop(c, err)
		return
	}
	// 2. Reserve room before the welcome, because the other side sends when it is welcome.
	to := p.kinds[h.kind]
	if !p.conns.becomeStream(raw) {
		p.drop(c, errors.Join(fmt.Errorf("%s: %w", h.kind, errFull), refuse(c.Conn, sayBusy)))
		return
	}
	if !to.reserve() {
		p.drop(c, errors.Join(fmt.Errorf("%s: %w", h.kind, errUnserved), refuse(c.Conn, sayBusy)))
		return
	}
	if err := h.welcome(c.Conn); err != nil {
		to.waiting.Add(-1)
		p.drop(c, err)
		return
	}
	raw.SetDeadline(time.Time{})
	if !to.offer(c.Conn, p.timeout) {
		p.drop(c, fmt.Errorf("%s: %w", h.kind, errUnserved))
	}
}

// drop closes a connection and counts it.
func (p *Port) drop(c *cmux.MuxConn, why error) {
	raw, _ := underlying(c)
	if _, pushed := p.conns.classOf(raw); pushed {
		why = errPushed
	}
	raw.Close()
	p.reject(raw, why)
}

// reject counts a closed connection, and logs it now and then.
func (p *Port) reject(c net.Conn, why error) {
	p.rejected.Add(1)
	if p.isClosed() {
		return
	}
	level := slog.LevelDebug
	now, last := time.Now().UnixNano(), p.warned.Load()
	if now-last >= int64(warnEvery) && p.warned.CompareAndSwap(last, now) {
		level = slog.LevelWarn
	}
	p.log.Log(context.Background(), level, "a connection was refused", "from", c.RemoteAddr().String(), "error", why)
}
