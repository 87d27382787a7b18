// The ends of a stream as net.Conn, with deadlines.

package memnet

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// conn is one end of a stream.
type conn struct {
	stream *stream
	end    int
}

func (c *conn) LocalAddr() net.Addr  { return net.TCPAddrFromAddrPort(c.stream.ends[c.end].addr) }
func (c *conn) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(c.stream.ends[1-c.end].addr) }

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.stream.read(c.end, b)
	return n, c.wrap("read", err)
}

func (c *conn) Write(b []byte) (int, error) {
	n, err := c.stream.write(c.end, b)
	return n, c.wrap("write", err)
}

// Close ends both directions. Bytes written before still arrive.
func (c *conn) Close() error { return c.wrap("close", c.stream.finish(c.end, true)) }

// CloseWrite ends the direction from this end.
func (c *conn) CloseWrite() error { return c.wrap("close", c.stream.finish(c.end, false)) }

func (c *conn) wrap(op string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *conn) SetReadDeadline(t time.Time) error {
	return c.setDeadline(&c.stream.ends[c.end].read, t)
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	return c.setDeadline(&c.stream.ends[c.end].write, t)
}

func (c *conn) setDeadline(d *deadline, t time.Time) error {
	s := c.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends[c.end].closed {
		return c.wrap("set", net.ErrClosed)
	}
	d.set(t, &s.mu, s.cond)
	return nil
}

// deadline is guarded by the lock of its stream or socket.
type deadline struct {
	passed bool
	timer  *time.Timer
}

// set replaces the deadline. It wakes the waiting calls, now and when the deadline passes. The lock
// must be held.
func (d *deadline) set(t time.Time, lock sync.Locker, cond *sync.Cond) {
	d.stop()
	wait := time.Until(t)
	d.passed = !t.IsZero() && wait <= 0
	cond.Broadcast()
	if t.IsZero() || d.passed {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		lock.Lock()
		defer lock.Unlock()
		if d.timer == timer {
			d.passed = true
			cond.Broadcast()
		}
	})
	d.timer = timer
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
