// The client: streams.

package peer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/trefoildb/trefoil/internal/tracing"
)

// A Stream is the answer of a [StreamHandler]. One goroutine may use Next; Close
// may be called from any.
type Stream struct {
	addr, method string

	ctx    context.Context
	cancel context.CancelCauseFunc
	res    *http.Response
	in     *bufio.Reader
	frame  []byte
	err    error // what Next returns from now on

	span  *tracing.Span
	ended sync.Once // the span is
}

// Stream sends a request to a node, as [Client.Call], and
// returns once its handler has flushed something or has ended. The stream must be
// closed, and ends with ctx.
func (c *Client) Stream(ctx context.Context, to Recipient, method string, body []byte) (*Stream, error) {
	addr := to.Address
	ctx, span := startCall(ctx, addr, method)
	ctx, cancel := c.bind(ctx)
	res, err := c.send(ctx, to, method, body)
	if err == nil && res.ContentLength >= 0 {
		res.Body.Close()
		err = fmt.Errorf("%s at %s: the answer is no stream", method, addr)
	}
	if err != nil {
		cancel(nil)
		span.End(err)
		return nil, err
	}
	return &Stream{addr: addr, method: method, ctx: ctx, cancel: cancel, res: res, in: bufio.NewReader(res.Body), span: span}, nil
}

// Next returns the next frame; it belongs to the caller until the next Next. The error is io.EOF
// only after all frames of a handler without an error. If the handler failed, it is a [*Refusal]
// or [*RemoteError]. If the stream was cut by any cause, it wraps io.ErrUnexpectedEOF.
func (s *Stream) Next() ([]byte, error) {
	if s.err != nil {
		return nil, s.err
	}
	frame, err := s.next()
	if err != nil {
		s.err = err
		s.frame = nil
		if err != io.EOF {
			s.ended.Do(func() { s.span.End(err) })
		}
		s.Close()
		return nil, err
	}
	return frame, nil
}

func (s *Stream) next() ([]byte, error) {
	kind, frame, err := readFrame(s.in, s.frame)
	s.frame = frame
	if err != nil {
		return nil, s.broken(err)
	}
	if kind == frameData {
		return frame, nil
	}
	// HTTP's own end must be read, because the connection is not kept alive otherwise. The answer
	// is complete with or without it.
	_, _ = s.in.ReadByte()
	if kind == frameEnd {
		return nil, io.EOF
	}
	return nil, decodeFailure(s.addr, s.method, frame)
}

func (s *Stream) broken(err error) error {
	err = causeOf(s.ctx, err)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return fmt.Errorf("%s at %s: the stream broke off: %w", s.method, s.addr, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%s at %s: the stream broke off: %w: %w", s.method, s.addr, io.ErrUnexpectedEOF, err)
}

// Close ends the stream, and the context of its handler if it still runs. A waiting Next returns.
// The error is always nil.
func (s *Stream) Close() error {
	s.ended.Do(func() { s.span.End(nil) })
	s.cancel(ErrClosed)
	s.res.Body.Close()
	return nil
}
