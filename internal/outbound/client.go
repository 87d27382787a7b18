// Requests to other servers, within limits.

package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// ErrNetwork is the error if another server did not answer, or answered wrongly.
var ErrNetwork = errors.New("the request to another server failed")

// Limits of requests to other servers.
const (
	maxRedirects = 5
	maxURLBytes  = 8 << 10
	maxErrorText = 200
)

// Client sends requests to allowed hosts. Close closes its connections. It may be called at any time and
// more than once, also on nil. A Client is safe for concurrent use.
type Client struct {
	Hosts       *Hosts
	IdleTimeout time.Duration // the longest time without a byte
	Logger      *slog.Logger

	once      sync.Once
	client    *http.Client
	transport *http.Transport
}

func (n *Client) open() {
	n.transport = n.Hosts.Transport(n.Logger)
	n.client = &http.Client{Transport: n.transport, CheckRedirect: n.checkRedirect}
}

// Close closes the idle connections.
func (n *Client) Close() {
	if n != nil {
		n.once.Do(n.open)
		n.transport.CloseIdleConnections()
	}
}

func (n *Client) checkRedirect(next *http.Request, before []*http.Request) error {
	next.Header.Del("Referer")
	last := before[len(before)-1]
	switch {
	case len(before) > maxRedirects:
		return fmt.Errorf("%w: more than %d redirects", ErrNetwork, maxRedirects)
	case last.URL.Scheme == "https" && next.URL.Scheme != "https":
		return fmt.Errorf("%w: a redirect from https to %s", ErrHost, next.URL.Scheme)
	case next.Method != last.Method:
		return fmt.Errorf("%w: a redirect that would turn %s into %s; use the new address", ErrNetwork, last.Method, next.Method)
	case len(next.URL.String()) > maxURLBytes:
		return fmt.Errorf("%w: a redirect to an address of more than %d bytes", ErrNetwork, maxURLBytes)
	}
	if err := n.Hosts.Check(next.URL); err != nil {
		return fmt.Errorf("redirect: %w", err)
	}
	return nil
}

// Answer is a successful answer to a request. The caller must close its body.
type Answer struct {
	Header http.Header
	URL    *url.URL // after redirects
	Body   io.ReadCloser
}

// Do sends a request. ctx bounds the body too. It fails if the host is not allowed or the status is
// not 200, by [ErrHost] or [ErrNetwork].
func (n *Client) Do(ctx context.Context, method, iri string, header http.Header, body string) (*Answer, error) {
	// 1. Check the URL before anything is opened.
	u, err := n.parse(iri)
	if err != nil {
		return nil, err
	}
	n.once.Do(n.open)
	// 2. Send the request, under a timer that ends it if the server stalls.
	watched, watch := n.watch(ctx)
	request, err := http.NewRequestWithContext(watched, method, u.String(), strings.NewReader(body))
	if err != nil {
		watch.stop()
		return nil, fmt.Errorf("%w: %w", ErrHost, err)
	}
	request.Header = header
	request.Header.Set("User-Agent", "trefoil")
	request.Header.Set("Accept-Encoding", "gzip")
	response, err := n.client.Do(request)
	if err != nil {
		err = watch.explain(err)
		watch.stop()
		return nil, err
	}
	watch.timer.Stop() // from now on it runs only in reads
	// 3. Check the status. The body of an error may explain it.
	reader := &watchedBody{watch: watch, body: response.Body}
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("%w: it answered %s%s", ErrNetwork, Printable(response.Status), errorText(response.Header, reader))
		reader.Close()
		return nil, err
	}
	return &Answer{Header: response.Header, URL: response.Request.URL, Body: reader}, nil
}

// parse returns the URL of an IRI if requests to it are allowed.
func (n *Client) parse(iri string) (*url.URL, error) {
	if len(iri) > maxURLBytes {
		return nil, fmt.Errorf("%w: an IRI of more than %d bytes", ErrHost, maxURLBytes)
	}
	u, err := url.Parse(iri)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHost, err)
	}
	if err := n.Hosts.Check(u); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// watch ends a request if it brings no byte for idleTimeout.
type watch struct {
	parent      context.Context
	own         context.Context
	cancel      context.CancelCauseFunc
	timer       *time.Timer
	idleTimeout time.Duration
}

var errStalled = errors.New("it stopped sending")

func (n *Client) watch(ctx context.Context) (context.Context, *watch) {
	own, cancel := context.WithCancelCause(ctx)
	w := &watch{parent: ctx, own: own, cancel: cancel, idleTimeout: n.IdleTimeout}
	w.timer = time.AfterFunc(n.IdleTimeout, func() { cancel(errStalled) })
	return own, w
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// explain returns the cause of a failed request. If its context ended, the error is the context's.
// No other error must look like that.
func (w *watch) explain(err error) error {
	if w.parent.Err() != nil {
		return w.parent.Err()
	}
	if errors.Is(context.Cause(w.own), errStalled) {
		return fmt.Errorf("%w: %w for %s", ErrNetwork, errStalled, w.idleTimeout)
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // without the URL, because the client gave it
	}
	if errors.Is(err, ErrHost) {
		// The error is shown once, and without the address that the dialer puts before it.
		if inner := (*net.OpError)(nil); errors.As(err, &inner) {
			return inner.Err
		}
		return err
	}
	if errors.Is(err, ErrNetwork) {
		return err
	}
	// Timeouts of package net match context.DeadlineExceeded, so the error must not be wrapped.
	return fmt.Errorf("%w: %s", ErrNetwork, err.Error())
}

// watchedBody is a body with a timer: a read fails if it brings no byte for idleTimeout.
type watchedBody struct {
	watch *watch
	body  io.ReadCloser
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.timer.Reset(b.watch.idleTimeout)
	n, err := b.body.Read(p)
	b.watch.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.watch.explain(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.watch.stop()
	return b.body.Close()
}

// errorText returns the beginning of an error message, if it is plain text.
func errorText(header http.Header, body io.Reader) string {
	if !strings.HasPrefix(header.Get("Content-Type"), "text/plain") || header.Get("Content-Encoding") != "" {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(body, maxErrorText))
	if err != nil || len(text) == 0 {
		return ""
	}
	return ": " + Printable(string(text))
}

// Printable returns a stranger's text as one line without control characters.
func Printable(text string) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Bounded returns a reader of at most left bytes. More are an error that names the limit.
func Bounded(r io.Reader, left, limit int64) io.Reader { return &bounded{r, left, limit} }

type bounded struct {
	io.Reader
	left, limit int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("%w: it sent more than %d bytes", ErrNetwork, b.limit)
	}
	return n, err
}
