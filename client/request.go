// Sending requests, with retries if they are safe.

package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// call is one request.
type call struct {
	method string
	target url.URL // see transport.endpoint
	header http.Header
	body   []byte // sent again with each try
	// byTriple is set if it is done triple by triple. Then the rest is done if it is sent again.
	byTriple bool
	answered *http.Header // if not nil, it is set to the header of the answer to a change
}

// send sends a call and returns its whole answer, of at most limit bytes.
func (t *transport) send(ctx context.Context, what call, limit int64) ([]byte, http.Header, error) {
	var text []byte
	var header http.Header
	err := t.retry(ctx, func() error {
		answer, err := t.try(ctx, what, bytes.NewReader(what.body))
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		header = answer.Header
		text, err = readAll(answer, limit)
		return err
	})
	return text, header, err
}

// Headers of a change, see docs/api/triples.md. The key is in lower case, because net/http resends requests
// with "Idempotency-Key" by itself and does not report it.
const (
	keyHeader    = "idempotency-key"
	repeatHeader = "Trefoil-Repeat"
)

// change sends a call that changes data, and returns its whole answer. The call has a key, so it is
// done once. If its outcome is unknown, it is sent again. If it is done triple by triple, the next
// try does the rest; otherwise a change that had begun stays unknown. If again is false, the call
// is not sent again when the node is unavailable.
func (t *transport) change(ctx context.Context, what call, again bool) ([]byte, error) {
	// 1. Give the call a key. Only the first try may claim that the request is new.
	what.header = what.header.Clone()
	if what.header == nil {
		what.header = http.Header{}
	}
	what.header[keyHeader] = []string{rand.Text()}
	what.header.Set(repeatHeader, "false")
	// 2. Try it. The outcome of each try decides the error after the last one.
	var text []byte
	var unknown error // of a try whose outcome is unknown
	var partial error // of a try that did a part of the change
	err := t.retry(ctx, func() error {
		err := t.changeOnce(ctx, what, again, &text)
		what.header.Del(repeatHeader)
		var p *permanent
		var e *Error
		switch {
		case err == nil:
			return nil
		case errors.As(err, &e) && e.Kind == "under-way":
			return err
		case errors.Is(err, ErrUnknownOutcome):
			unknown = err
		case errors.As(err, &e) && (e.Begun || e.Done > 0):
			partial = err
			return err
		case errors.As(err, &p) && unknown != nil:
			return &permanent{errors.Join(err, unknown)}
		}
		return err
	})
	// 3. If a try may have done something, the error must not look as if nothing was done.
	var last *Error
	if partial != nil && err != nil && !(errors.As(err, &last) && (last.Begun || last.Done > 0)) {
		unknown = partial
		err = errors.Join(err, partial)
	}
	if err != nil && unknown != nil && !errors.Is(err, ErrUnknownOutcome) {
		err = unknownOutcome(err)
	}
	return text, err
}

func (t *transport) changeOnce(ctx context.Context, what call, again bool, text *[]byte) error {
	answer, err := t.try(ctx, what, bytes.NewReader(what.body))
	if err != nil {
		return changeError(err, again, what.byTriple)
	}
	defer answer.Body.Close()
	if what.answered != nil {
		*what.answered = answer.Header
	}
	if *text, err = readAll(answer, maxJSONBytes); err != nil {
		return unknownOutcome(err)
	}
	return nil
}

// changeError classifies the error of a change: permanent, nothing done, or ErrUnknownOutcome.
// After the last a repeat may get the answer.
func changeError(err error, again, byTriple bool) error {
	var e *Error
	var p *permanent
	switch {
	case errors.As(err, &p), notConnected(err):
		return err
	case !errors.As(err, &e):
		return unknownOutcome(err)
	case byTriple && (e.Begun || e.Done > 0 || e.Kind == "unknown-outcome"):
		return err
	case e.Begun || e.Done > 0:
		return &permanent{err}
	case e.Kind == "busy", e.Kind == "loading", e.Status == http.StatusTooManyRequests, e.Kind == "unavailable" && again:
		return err
	case e.Kind == "" && e.Status >= http.StatusInternalServerError: // of a proxy, say
		return unknownOutcome(err)
	case e.Kind == "under-way":
		return err
	}
	return &permanent{err}
}

func unknownOutcome(err error) error { return fmt.Errorf("%w: %w", ErrUnknownOutcome, err) }

// readAll reads an answer of at most limit bytes. net/http checks the length in the header, so a
// broken answer is an error.
func readAll(answer *http.Response, limit int64) ([]byte, error) {
	if answer.ContentLength > limit {
		return nil, &permanent{fmt.Errorf("the node's answer has %d bytes, more than the %d expected", answer.ContentLength, limit)}
	}
	var text bytes.Buffer
	if answer.ContentLength > 0 {
		text.Grow(int(answer.ContentLength) + bytes.MinRead)
	}
	if _, err := text.ReadFrom(io.LimitReader(answer.Body, limit+1)); err != nil {
		return nil, fmt.Errorf("read the node's answer: %w", err)
	}
	if int64(text.Len()) > limit {
		return nil, &permanent{fmt.Errorf("the node's answer has more than the %d bytes expected", limit)}
	}
	return text.Bytes(), nil
}

// get sends a GET and decodes its JSON answer.
func (t *transport) get(ctx context.Context, target url.URL, into any) error {
	text, _, err := t.send(ctx, call{method: http.MethodGet, target: target, header: http.Header{"Accept": {"application/json"}}}, maxJSONBytes)
	if err != nil {
		return err
	}
	return decodeJSON(text, into)
}

// maxJSONBytes bounds an answer of one JSON object.
const maxJSONBytes = 64 << 20

func decodeJSON(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer is not a node's: %w", err)
	}
	return nil
}

// try sends a request once: to the current node, or to the next ones while no connection can be made,
// because nothing was sent then. If there is no error, the caller must close the answer's body.
func (t *transport) try(ctx context.Context, what call, body io.Reader) (answer *http.Response, err error) {
	for range t.nodes {
		node := t.current.Load()
		answer, err = t.tryNode(ctx, node, what, body)
		switch {
		case err == nil || ctx.Err() != nil:
			return answer, err
		case notConnected(err):
			t.leave(node)
			continue
		case mayPass(err) && failsOver(err):
			t.leave(node) // a retry goes to the next one
		}
		return nil, err
	}
	return nil, err
}

// notConnected reports whether a request was not sent, because there was no connection.
func notConnected(err error) bool {
	var dial *net.OpError
	return errors.As(err, &dial) && dial.Op == "dial"
}

// failsOver reports whether another node of the cluster may answer after an error: the connection
// broke, or the node is not available.
func failsOver(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return true
	}
	return e.Status == http.StatusBadGateway || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
}

// tryNode sends a request to one node.
func (t *transport) tryNode(ctx context.Context, node int64, what call, body io.Reader) (*http.Response, error) {
	// 1. Make the request.
	r, err := http.NewRequestWithContext(ctx, what.method, t.endpointURL(node, what.target), body)
	if err != nil {
		return nil, &permanent{err}
	}
	for name, values := range what.header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "trefoil-client")
	if t.options.Token != "" {
		r.Header.Set("Authorization", "Bearer "+t.options.Token)
	}
	// 2. Send it. An untrusted certificate stays untrusted.
	answer, err := t.options.HTTPClient.Do(r)
	if untrusted := (*tls.CertificateVerificationError)(nil); errors.As(err, &untrusted) {
		return nil, &permanent{err} // the request was not sent
	}
	if err != nil {
		return nil, err
	}
	switch answer.StatusCode {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
	default:
		return nil, errorOf(answer)
	}
	if t.options.Degraded != nil && isDegraded(answer.Header) {
		t.options.Degraded(r.URL.Path)
	}
	if text := answer.Header.Get("Trefoil-Warning"); t.options.Warning != nil && text != "" {
		t.options.Warning(text)
	}
	answer.Body = &cancellableBody{answer.Body, ctx}
	return answer, nil
}

// isDegraded reports whether an answer is degraded: a part came from other copies, because machines
// are down. It is complete.
func isDegraded(header http.Header) bool { return header.Get("Trefoil-Degraded") == "true" }

// permanent is an error that no retry can remove.
type permanent struct{ error }

func (p *permanent) Unwrap() error { return p.error }

// retry calls do until it succeeds, fails permanently, or has no retries left. It also stops if the
// context would end during the pause.
func (t *transport) retry(ctx context.Context, do func() error) error {
	for n := 1; ; n++ {
		err := do()
		if err == nil || n > t.options.Retries || ctx.Err() != nil || !mayPass(err) {
			return unwrapPermanent(err)
		}
		pause := t.backoff(n)
		var e *Error
		if errors.As(err, &e) {
			pause = max(pause, e.retryAfter)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < pause {
			return err
		}
		if t.options.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

func unwrapPermanent(err error) error {
	if p, ok := err.(*permanent); ok {
		return p.error
	}
	return err
}

// mayPass reports whether a retry may succeed after an error.
func mayPass(err error) bool {
	var p *permanent
	if errors.As(err, &p) || errors.Is(err, ErrQueryTimeout) || errors.Is(err, ErrRemote) || errors.Is(err, ErrLost) {
		return false
	}
	var e *Error
	if errors.As(err, &e) {
		if e.Kind == "under-way" {
			return true
		}
		if e.Kind == "" && errors.Is(err, ErrUnknownOutcome) {
			return true
		}
		// The last line of an answer that breaks off is an error, too, but its status is 200.
		if e.Status == http.StatusOK {
			return errors.Is(err, ErrBusy) || errors.Is(err, ErrUnavailable)
		}
		switch e.Status {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return true
		}
		return false
	}
	return true
}

// cancellableBody is the body of an answer. An error of Read wraps that of ctx if ctx has ended:
// net/http may return only that the connection is closed, because the cancellation closes it while
// the body is read.
type cancellableBody struct {
	io.ReadCloser
	ctx context.Context
}

func (b *cancellableBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", b.ctx.Err(), err)
	}
	return n, err
}

// reportingReader keeps the error of reading a document, because net/http hides it behind that of the
// broken request. The transport reads in its own goroutine.
type reportingReader struct {
	r   io.Reader
	mu  sync.Mutex
	err error
}

func (t *reportingReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if err != nil && err != io.EOF {
		t.mu.Lock()
		t.err = err
		t.mu.Unlock()
	}
	return n, err
}

func (t *reportingReader) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
