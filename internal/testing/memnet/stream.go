// Streams: two directions of bytes.

package memnet

import (
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// streamBytes is the number of bytes in flight or unread in one direction. If there are more, a
// write waits.
const streamBytes = 64 << 10

// stream is a connection. End 0 has dialed. Direction i carries the bytes from end i.
//
// Lock order: Net.mu before stream.mu.
type stream struct {
	net  *Net
	ends [2]end // fields host and addr do not change

	mu   sync.Mutex
	cond *sync.Cond // signalled when anything below has changed
	dirs [2]direction
}

// end is one side of a connection.
type end struct {
	host        *Host
	addr        netip.AddrPort
	closed      bool
	broken      bool // reset, and its reads and writes return that
	frozen      bool // its host is; see Net.Freeze
	read, write deadline
}

// direction holds the bytes sent by one end and not read by the other.
type direction struct {
	open    bool
	parts   []part
	bytes   int  // Invariant: the sum of the parts'
	ended   bool // the writer has closed it: the last part is its end
	gone    bool // the writer reads no more either; the reader gets that with the end
	aborted bool // the writer was aborted
	// reset is set if aborted and the way was open since; the reader then gets it.
	reset bool
}

// part is bytes, or the end, with the time of their arrival.
type part struct {
	text    []byte
	end     bool
	at      time.Time
	arrived bool
}

func newStream(n *Net, from, to *Host, here, there netip.AddrPort) *stream {
	s := &stream{net: n, ends: [2]end{{host: from, addr: here}, {host: to, addr: there}}}
	s.cond = sync.NewCond(&s.mu)
	for i := range s.dirs {
		s.dirs[i].open = n.open(s.way(i))
		s.ends[i].frozen = n.frozen[s.ends[i].addr.Addr()]
	}
	return s
}

func (s *stream) way(i int) way { return way{s.ends[i].addr.Addr(), s.ends[1-i].addr.Addr()} }

// set opens and cuts the directions, and freezes and thaws the ends.
func (s *stream) set(there, back, first, second bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[0].frozen, s.ends[1].frozen = first, second
	now := time.Now()
	for i, open := range [2]bool{there, back} {
		d := &s.dirs[i]
		d.advance(now) // because bytes from before a cut have arrived
		d.open = open
		d.advance(now)
	}
	s.cond.Broadcast()
}

// advance lets parts arrive when they are due, if the direction is open.
func (d *direction) advance(now time.Time) {
	if !d.open {
		return
	}
	d.reset = d.aborted
	for i := range d.parts {
		if p := &d.parts[i]; !p.arrived {
			if p.at.After(now) {
				return
			}
			p.arrived = true
		}
	}
}

// put sends a part. It arrives after a delay, but not before earlier parts.
func (s *stream) put(i int, p part, delay time.Duration) {
	d := &s.dirs[i]
	now := time.Now()
	p.at = now.Add(delay)
	d.parts = append(d.parts, p)
	d.bytes += len(p.text)
	if wait := p.at.Sub(now); wait > 0 {
		time.AfterFunc(wait, s.wake)
		return
	}
	s.cond.Broadcast()
}

func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cond.Broadcast()
}

// delay draws the delay of bytes written by end i now.
func (s *stream) delay(i int) time.Duration {
	s.net.mu.Lock()
	defer s.net.mu.Unlock()
	return s.net.delay(s.way(i))
}

// read returns bytes that have arrived at end i.
func (s *stream) read(i int, b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := &s.dirs[1-i]
	for {
		// 1. Errors and frozen hosts come first, also if bytes have arrived.
		in.advance(time.Now())
		if err := s.dead(i, &s.ends[i].read); err != nil {
			return 0, err
		}
		if s.ends[i].frozen {
			s.cond.Wait()
			continue
		}
		if len(b) == 0 {
			return 0, nil
		}
		// 2. Take parts that have arrived, up to the end.
		n := 0
		for n < len(b) && len(in.parts) > 0 && in.parts[0].arrived && !in.parts[0].end {
			first := &in.parts[0]
			k := copy(b[n:], first.text)
			n += k
			if first.text = first.text[k:]; len(first.text) == 0 {
				in.parts = in.parts[1:]
			}
		}
		// Writers wait for the room of these bytes.
		if n > 0 {
			in.bytes -= n
			s.cond.Broadcast()
			return n, nil
		}
		// Only the end of the stream is left.
		if len(in.parts) > 0 && in.parts[0].arrived {
			return 0, io.EOF
		}
		s.cond.Wait()
	}
}

// write sends from end i. It copies b.
func (s *stream) write(i int, b []byte) (n int, err error) {
	for {
		k, err := s.writeSome(i, b[n:], s.delay(i))
		n += k
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

// writeSome waits for room and sends a part of b.
func (s *stream) writeSome(i int, b []byte, delay time.Duration) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, in := &s.dirs[i], &s.dirs[1-i]
	for {
		// 1. Errors and frozen hosts come first, also if there is room.
		in.advance(time.Now())
		if err := s.dead(i, &s.ends[i].write); err != nil {
			return 0, err
		}
		if s.ends[i].frozen {
			s.cond.Wait()
			continue
		}
		// This side has closed, or the peer has and the news has arrived.
		if out.ended || in.gone && in.endArrived() {
			return 0, os.NewSyscallError("write", syscall.EPIPE)
		}
		if len(b) == 0 {
			return 0, nil
		}
		// 2. Send the bytes that fit.
		if room := streamBytes - out.bytes; room > 0 {
			k := min(room, len(b))
			s.net.sent(s.ends[i].addr, s.ends[1-i].addr, "stream", b[:k])
			s.put(i, part{text: append([]byte(nil), b[:k]...)}, delay)
			return k, nil
		}
		s.cond.Wait()
	}
}

func (d *direction) endArrived() bool {
	return d.ended && len(d.parts) > 0 && d.parts[len(d.parts)-1].arrived
}

// dead returns the error of an end that can neither read nor write; nil if it can.
func (s *stream) dead(i int, by *deadline) error {
	e := &s.ends[i]
	if s.dirs[1-i].reset {
		e.broken = true
	}
	switch {
	case e.closed:
		return net.ErrClosed
	case by.passed:
		return os.ErrDeadlineExceeded
	case e.broken:
		return syscall.ECONNRESET
	}
	return nil
}

// finish ends the direction from end i. If wholly is set, the end reads no more either.
func (s *stream) finish(i int, wholly bool) error {
	delay := s.delay(i)
	s.mu.Lock()
	e, out, in := &s.ends[i], &s.dirs[i], &s.dirs[1-i]
	if e.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	if (!out.ended || wholly) && !e.broken {
		out.ended = true
		s.put(i, part{end: true}, delay)
	}
	if wholly {
		e.closed, out.gone = true, true
		e.read.stop()
		e.write.stop()
		in.parts, in.bytes = nil, 0
	}
	over := s.isOver()
	s.cond.Broadcast()
	s.mu.Unlock()
	if over {
		s.net.forget(s)
	}
	return nil
}

// isOver reports whether nothing can reach either end any more.
func (s *stream) isOver() bool {
	a, b := &s.ends[0], &s.ends[1]
	return (a.closed || a.broken) && (b.closed || b.broken)
}

// abort breaks end i. The other end gets that when its way is open. It reports whether the stream
// is over.
func (s *stream) abort(i int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := &s.ends[i]; !e.closed { // otherwise it has sent its end
		e.broken = true
		s.dirs[i].aborted = true
		s.dirs[i].advance(time.Now())
		s.cond.Broadcast()
	}
	return s.isOver()
}

// breakNow breaks both ends.
func (s *stream) breakNow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends[0].broken, s.ends[1].broken = true, true
	s.cond.Broadcast()
}
