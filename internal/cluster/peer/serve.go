// The server: one request.

package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/tracing"
)

// serve is the http.Handler. It gives up on a connection by panicking with
// http.ErrAbortHandler, as net/http wants it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	o := &out{w: w, control: http.NewResponseController(w), stall: s.options.StallTimeout}
	h := w.Header()
	h["Date"], h["Content-Type"] = nil, nil // else net/http writes its own
	method := strings.TrimPrefix(r.URL.Path, "/")

	// 1. Check the sender and count the request before its body is read, so that strangers
	// and overload cost little.
	from, refusal := s.check(r)
	if refusal == nil {
		refusal = s.enter(method, r.ContentLength)
	}
	if refusal != nil {
		s.refuse(o, r, refusal)
		return
	}
	var reserved int64 // bytes of the body
	var err error
	left := false
	leave := func() {
		if !left {
			left = true
			s.leave(method, reserved)
		}
	}
	defer leave()

	// 2. Find the handler, and read the body within the server's memory.
	s.mu.Lock()
	call, stream := s.calls[method], s.streams[method]
	s.mu.Unlock()
	if call == nil && stream == nil {
		s.refuse(o, r, &Refusal{Code: CodeMethod, Message: fmt.Sprintf("no such method: %.64q", method)})
		return
	}
	ctx, span := s.options.Tracer.Message(tracing.Read(r.Header).Context(r.Context()), method)
	defer func() { span.End(err) }()
	if s.options.Watch != nil {
		if answered := s.options.Watch(ctx, method, from); answered != nil {
			defer answered()
		}
	}
	var body []byte
	body, err = readWhole(r.Body, nil, int(r.ContentLength), func(length int) error {
		if err := s.reserve(&reserved, length); err != nil {
			return err
		}
		return s.readDeadline(o)
	})
	if errors.As(err, &refusal) {
		leave() // the rest of the body is discarded
		s.refuse(o, r, refusal)
		return
	}
	if err != nil || o.control.SetReadDeadline(time.Time{}) != nil {
		panic(http.ErrAbortHandler)
	}
	// 3. Answer. If the answer cannot be written, the connection is of no use any more.
	if call != nil {
		err = s.call(o, ctx, method, call, from, body)
	} else {
		err = s.stream(o, ctx, method, stream, from, body)
	}
	if o.err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) check(r *http.Request) (Header, *Refusal) {
	from, err := parseHeader(r.Header)
	if err != nil {
		return from, &Refusal{Code: CodeStranger, Message: err.Error()}
	}
	if r.Method != http.MethodPost {
		return from, &Refusal{Code: CodeMethod, Message: "not a POST"}
	}
	if s.options.Check == nil {
		return from, nil
	}
	return from, s.options.Check(from)
}

// refuse reads the body first, as far as MaxBody, into nothing: a client that
// is cut off while it sends may miss the answer.
func (s *Server) refuse(o *out, r *http.Request, refusal *Refusal) {
	for left := s.options.MaxBody; left > 0; left -= piece {
		if s.readDeadline(o) != nil {
			break
		}
		if _, err := io.CopyN(io.Discard, r.Body, min(left, piece)); err != nil {
			break
		}
	}
	if s.fail(o, refusal) != nil {
		panic(http.ErrAbortHandler)
	}
}

func (s *Server) readDeadline(o *out) error {
	return o.control.SetReadDeadline(time.Now().Add(s.options.StallTimeout))
}

func (s *Server) call(o *out, ctx context.Context, method string, h Handler, from Header, body []byte) error {
	var answer []byte
	err := s.guard(method, func() (err error) {
		answer, err = h(ctx, from, body)
		return err
	})
	if err != nil {
		_ = s.fail(o, err) // o keeps it
		return err
	}
	o.answer(http.StatusOK, answer)
	return o.err
}

func (s *Server) stream(o *out, ctx context.Context, method string, h StreamHandler, from Header, body []byte) error {
	w := newWriter(ctx, o)
	defer w.release()
	err := s.guard(method, func() error { return h(ctx, from, body, w) })
	switch {
	case err == nil:
		_ = w.end(frameEnd, nil) // o keeps it
	case !o.started:
		_ = s.fail(o, err)
	default:
		if data, err := failureOf(err).encode(); err != nil {
			o.err = err
		} else {
			_ = w.end(frameError, data)
		}
	}
	return cmp.Or(err, o.err)
}

// guard runs a handler. A panic is its error.
func (s *Server) guard(method string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.options.Logger.Error("a handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// fail answers with an error.
func (s *Server) fail(o *out, err error) error {
	f := failureOf(err)
	data, err := f.encode()
	if err != nil {
		o.err = err
		return err
	}
	status := http.StatusInternalServerError
	if f.Code != "" {
		status = http.StatusConflict
	}
	o.answer(status, data)
	return o.err
}

// answer sends all of an answer, so that a connection may be closed once the
// handler has returned.
func (o *out) answer(status int, body []byte) {
	o.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	o.w.WriteHeader(status)
	_, _ = o.Write(body) // o keeps it
	_ = o.flush()
}
