// The client: calls.

package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/trefoildb/trefoil/internal/tracing"
	"github.com/trefoildb/trefoil/trie"
)

// ClientOptions are the parameters of [NewClient]. The zero value is ready to use.
type ClientOptions struct {
	MaxBody     int64         // bytes of a request; 0 is MaxBody
	MaxAnswer   int64         // bytes of the answer to a call; 0 is MaxBody
	MaxIdle     int           // connections kept alive, per address; 0 is 16
	IdleTimeout time.Duration // how long they are; 0 is 60 s. Servers keep theirs for longer
	DialTimeout time.Duration // 0 is 10 s
}

func (o ClientOptions) withDefaults() ClientOptions {
	or(&o.MaxBody, MaxBody)
	or(&o.MaxAnswer, MaxBody)
	or(&o.MaxIdle, 16)
	or(&o.IdleTimeout, 60*time.Second)
	or(&o.DialTimeout, 10*time.Second)
	return o
}

// or sets a parameter if it is zero.
func or[T comparable](p *T, value T) {
	var zero T
	if *p == zero {
		*p = value
	}
}

// A Client sends requests to other nodes. It is safe for concurrent use.
type Client struct {
	options   ClientOptions
	dial      func(ctx context.Context, addr string) (net.Conn, error)
	header    func() Header
	transport *http.Transport

	ctx   context.Context // ends with Close
	close context.CancelFunc
	mu    sync.Mutex // no dial begins after close
	dials sync.WaitGroup
}

// NewClient returns a client. It gets its connections from dial; the context of dial bounds only
// the dialling. It sends the result of header with each request.
func NewClient(dial func(ctx context.Context, addr string) (net.Conn, error), header func() Header, o ClientOptions) *Client {
	c := &Client{options: o.withDefaults(), dial: dial, header: header}
	c.ctx, c.close = context.WithCancel(context.Background())
	http1 := new(http.Protocols)
	http1.SetHTTP1(true)
	c.transport = &http.Transport{
		DialContext:         c.connect,
		DisableCompression:  true,
		MaxIdleConnsPerHost: c.options.MaxIdle,
		IdleConnTimeout:     c.options.IdleTimeout,
		Protocols:           http1,
		ReadBufferSize:      32 << 10,
		WriteBufferSize:     32 << 10,
	}
	return c
}

// connect is the transport's dial. It must have an end of its own, because the transport lets it
// go on after its request has ended.
func (c *Client) connect(ctx context.Context, _, addr string) (net.Conn, error) {
	c.mu.Lock()
	if c.ctx.Err() != nil {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.dials.Add(1)
	c.mu.Unlock()
	defer c.dials.Done()
	ctx, cancel := context.WithTimeout(ctx, c.options.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	nc, err := c.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: nc}, nil
}

// Close ends all requests and connections.
func (c *Client) Close() {
	c.mu.Lock()
	c.close()
	c.mu.Unlock()
	c.dials.Wait()
	c.transport.CloseIdleConnections()
}

// A Recipient is whom a request is meant for.
//
// A machine with a blank disk gets a new ID, and may get the address of a former one. It must not answer
// for that, because it has none of its rows. So a request for a machine names it, and another one refuses.
// The error is then the same as if nothing were at the address.
type Recipient struct {
	Machine trie.MachineID // 0: any that is there
	Address string         // host:port
}

// Call sends a request to a node and returns its answer. The answer belongs
// to the caller. The body must not change, also for a moment after Call has returned, because it
// is still read.
//
// The error is a [*Refusal], a [*RemoteError] if the handler failed, or the error of the
// connection or of ctx. See [IsDefinite].
func (c *Client) Call(ctx context.Context, to Recipient, method string, body []byte) (answer []byte, err error) {
	addr := to.Address
	ctx, span := startCall(ctx, addr, method)
	defer func() { span.End(err) }()
	ctx, cancel := c.bind(ctx)
	defer cancel(nil)
	res, err := c.send(ctx, to, method, body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	n := res.ContentLength
	if n < 0 {
		return nil, fmt.Errorf("%s at %s: the answer is a stream", method, addr)
	}
	if n > c.options.MaxAnswer {
		return nil, fmt.Errorf("%s at %s: the answer has %d bytes, above the limit of %d", method, addr, n, c.options.MaxAnswer)
	}
	answer, err = readWhole(res.Body, nil, int(n), func(int) error { return nil })
	if err != nil {
		return nil, fmt.Errorf("%s at %s: the answer broke off: %w", method, addr, causeOf(ctx, err))
	}
	return answer, nil
}

// startCall begins the span of a request.
func startCall(ctx context.Context, addr, method string) (context.Context, *tracing.Span) {
	ctx, span := tracing.StartCall(ctx, method)
	span.Text("server.address", addr)
	return ctx, span
}

// bind returns a context. It also ends with the client.
func (c *Client) bind(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })
	return ctx, func(cause error) {
		stop()
		cancel(cause)
	}
}

// send sends a request and returns the answer if its status is 200.
func (c *Client) send(ctx context.Context, to Recipient, method string, body []byte) (*http.Response, error) {
	addr := to.Address
	if int64(len(body)) > c.options.MaxBody {
		return nil, &unsent{addr, method, fmt.Errorf("the request has %d bytes, above the limit of %d", len(body), c.options.MaxBody)}
	}
	if ctx.Err() != nil {
		return nil, &unsent{addr, method, context.Cause(ctx)}
	}
	// 1. Send. tried records the connections, because an error is only definite if nothing was
	// written.
	var tried attempts
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: tried.got})
	req := &http.Request{
		Method: http.MethodPost,
		URL:    &url.URL{Scheme: "http", Host: addr, Path: "/" + method},
		Host:   "trefoil",
		Header: c.headerFor(ctx, to.Machine).fields(),
	}
	tracing.OriginOf(ctx).Write(req.Header)
	if len(body) > 0 {
		// GetBody and a POST without Idempotency-Key: the transport tries again
		// only where it has written nothing.
		req.ContentLength = int64(len(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		req.Body, _ = req.GetBody()
	}
	res, err := c.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		err = causeOf(ctx, err)
		if tried.unsent() {
			return nil, &unsent{addr, method, err}
		}
		return nil, fmt.Errorf("%s at %s: sent, but not answered: %w", method, addr, err)
	}
	// 2. Anything but 200 is a failure. Its body must be bounded, because it is read whole.
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusConflict && res.StatusCode != http.StatusInternalServerError {
		return nil, fmt.Errorf("%s at %s: unexpected status %s", method, addr, res.Status)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxFailure+1))
	if err != nil {
		return nil, fmt.Errorf("%s at %s: the answer broke off: %w", method, addr, causeOf(ctx, err))
	}
	return nil, decodeFailure(addr, method, data)
}

// causeOf returns why ctx ended, if that is what err came from, and err otherwise.
func causeOf(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
