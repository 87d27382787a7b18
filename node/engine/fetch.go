package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// ErrNetwork: another server did not answer, or not as it should.
var ErrNetwork = errors.New("the request to another server failed")

// Limits of requests to other servers.
const (
	maxRedirects     = 5
	maxHeaderBytes   = 64 << 10
	maxURLBytes      = 8 << 10
	connectTimeout   = 10 * time.Second
	defaultPatience  = time.Minute // without a byte
	maxErrorText     = 200
	maxConnsPerHost  = 8
	maxServiceAnswer = 1 << 30 // bytes, decompressed
)

// network makes the requests of one query or update. Its connections are closed
// with it; close may be called at any time, and more than once, and nil can be closed.
type network struct {
	hosts    *hosts
	patience time.Duration // how long an answer may bring nothing
	logger   *slog.Logger

	once      sync.Once
	client    *http.Client
	transport *http.Transport
}

func (n *network) open() {
	dialer := &net.Dialer{Timeout: connectTimeout, ControlContext: n.control}
	// No proxy: one would dial, unchecked, in our stead. HTTP/1 only, and what is
	// compressed is decompressed within limits.
	n.transport = &http.Transport{
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connectTimeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConnsPerHost:    maxConnsPerHost,
		IdleConnTimeout:        connectTimeout,
		DisableCompression:     true,
	}
	n.client = &http.Client{Transport: n.transport, CheckRedirect: n.checkRedirect}
}

func (n *network) close() {
	if n != nil {
		n.once.Do(n.open)
		n.transport.CloseIdleConnections()
	}
}

// control sees the very address that is dialled, after the name was resolved.
func (n *network) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrHost, err)
	}
	if err := n.hosts.checkAddress(at); err != nil {
		// The address is for the operator, not for whoever asks.
		n.logger.Warn("refused to dial an address that is not public", "address", address)
		return err
	}
	return nil
}

func (n *network) checkRedirect(next *http.Request, before []*http.Request) error {
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
	if err := n.hosts.check(next.URL); err != nil {
		return fmt.Errorf("redirect: %w", err)
	}
	return nil
}

// answer is the answer to a request, which is one of success. Close it.
type answer struct {
	header http.Header
	url    *url.URL // where the redirects led
	body   io.ReadCloser
}

// do sends a request. Its context, which newRequest made, bounds the body too.
func (n *network) do(ctx context.Context, method, iri string, header http.Header, body string) (*answer, error) {
	u, err := n.parse(iri)
	if err != nil {
		return nil, err
	}
	n.once.Do(n.open)
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
	watch.timer.Stop() // from now on only while somebody reads
	reader := &watchedBody{watch: watch, body: response.Body}
	if response.StatusCode != http.StatusOK {
		err := fmt.Errorf("%w: it answered %s%s", ErrNetwork, printable(response.Status), errorText(response.Header, reader))
		reader.Close()
		return nil, err
	}
	return &answer{header: response.Header, url: response.Request.URL, body: reader}, nil
}

// parse returns the URL of an IRI that may be asked.
func (n *network) parse(iri string) (*url.URL, error) {
	if len(iri) > maxURLBytes {
		return nil, fmt.Errorf("%w: an IRI of more than %d bytes", ErrHost, maxURLBytes)
	}
	u, err := url.Parse(iri)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHost, err)
	}
	if err := n.hosts.check(u); err != nil {
		return nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// watch ends a request that brings nothing for too long.
type watch struct {
	parent   context.Context
	own      context.Context
	cancel   context.CancelCauseFunc
	timer    *time.Timer
	patience time.Duration
}

var errStalled = errors.New("it stopped sending")

func (n *network) watch(ctx context.Context) (context.Context, *watch) {
	own, cancel := context.WithCancelCause(ctx)
	w := &watch{parent: ctx, own: own, cancel: cancel, patience: n.patience}
	w.timer = time.AfterFunc(n.patience, func() { cancel(errStalled) })
	return own, w
}

func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// explain returns what a request failed by: the end of its context as that, and
// nothing else in such a way that it could be taken for it.
func (w *watch) explain(err error) error {
	if w.parent.Err() != nil {
		return w.parent.Err()
	}
	if errors.Is(context.Cause(w.own), errStalled) {
		return fmt.Errorf("%w: %w for %s", ErrNetwork, errStalled, w.patience)
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err // the URL is named by whoever asked
	}
	if errors.Is(err, ErrHost) {
		// Once, and without the address that the dialer puts before it.
		if inner := (*net.OpError)(nil); errors.As(err, &inner) {
			return inner.Err
		}
		return err
	}
	if errors.Is(err, ErrNetwork) {
		return err
	}
	// net's time-outs say that they are context.DeadlineExceeded.
	return fmt.Errorf("%w: %s", ErrNetwork, err.Error())
}

// watchedBody is a body that must go on bringing bytes while it is waited for.
type watchedBody struct {
	watch *watch
	body  io.ReadCloser
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.timer.Reset(b.watch.patience)
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

// errorText returns the beginning of an error message that is plain text.
func errorText(header http.Header, body io.Reader) string {
	if !strings.HasPrefix(header.Get("Content-Type"), "text/plain") || header.Get("Content-Encoding") != "" {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(body, maxErrorText))
	if err != nil || len(text) == 0 {
		return ""
	}
	return ": " + printable(string(text))
}

// printable returns text that a stranger wrote, as one line.
func printable(text string) string {
	text = strings.ToValidUTF8(text, "?")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// bounded reads at most so many bytes; more are an error.
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
