// Tests of keys from a URL: rotation, and servers that fail.

package oidc

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/testing/oidctest"
	"github.com/trefoildb/trefoil/internal/testing/require"
	"github.com/trefoildb/trefoil/internal/testing/seed"
)

// issuer is a server of keys, and a verifier that reads them.
type issuer struct {
	t        *testing.T
	answer   atomic.Pointer[http.HandlerFunc]
	requests atomic.Int64
	clock    atomic.Int64 // nanoseconds
	log      bytes.Buffer // read it after a Verify that failed
	*Verifier
}

func newIssuer(t *testing.T) *issuer {
	return newIssuerWith(t, func(url string) Options { return Options{Issuer: oidctest.Issuer, KeysURL: url + "/keys"} })
}

// newIssuerWith returns an issuer whose verifier has the options of the server's URL.
func newIssuerWith(t *testing.T, options func(url string) Options) *issuer {
	s := &issuer{t: t}
	t.Cleanup(func() { goleak.VerifyNone(t, goleak.IgnoreCurrent()) })
	s.clock.Store(noon.UnixNano())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		(*s.answer.Load())(w, r)
	}))
	t.Cleanup(server.Close)
	var err error
	o := options(server.URL)
	o.Audience, o.Now, o.Logger = oidctest.Audience, func() time.Time { return time.Unix(0, s.clock.Load()) }, logs.New(&s.log, false, 0)
	s.Verifier, err = New(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func (s *issuer) serve(h http.HandlerFunc) { s.answer.Store(&h) }

// serveKeys lets the server send these keys.
func (s *issuer) serveKeys(keys ...oidctest.Key) {
	text := oidctest.JWKS(s.t, keys...)
	s.serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) })
}

func (s *issuer) pass(d time.Duration) { s.clock.Add(int64(d)) }

// use verifies a token of a key. It is valid as long as the test takes.
func (s *issuer) use(ctx context.Context, k oidctest.Key) error {
	_, err := s.Verify(ctx, k.Sign(s.t, claims(map[string]any{"exp": noon.AddDate(1, 0, 0).Unix()})))
	return err
}

// check uses a key, and compares the number of requests to the server since the last check. "" is no error.
func (s *issuer) check(k oidctest.Key, words string, requests int64) {
	s.t.Helper()
	err := s.use(s.t.Context(), k)
	if (err == nil) != (words == "") || err != nil && !strings.Contains(err.Error(), words) {
		s.t.Errorf("key %s: %v, want %q", k.ID, err, words)
	}
	s.wait()
	if n := s.requests.Swap(0); n != requests {
		s.t.Errorf("key %s: %d requests for keys, want %d", k.ID, n, requests)
	}
}

// wait waits for the reading that runs.
func (s *issuer) wait() { s.keys.(*remote).reading.Wait() }

// TestRotation: an unknown key is looked for, but not too often, and a removed key is forgotten.
func TestRotation(t *testing.T) {
	s := newIssuer(t)
	a, b, c := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "b"), oidctest.NewKey(t, "c")
	s.serveKeys(a)
	s.check(a, "", 1) // nothing is read before the first token
	s.check(a, "", 0)
	s.serveKeys(a, b)
	s.check(b, "no key", 0) // too soon
	s.pass(minPause)
	s.check(b, "", 1)
	for range 20 {
		s.check(c, "no key", 0)
	}
	s.pass(minPause)
	s.check(c, "no key", 1)
	s.check(c, "no key", 0)
	s.check(a, "", 0)
	// The first use after renewAfter begins a reading and does not wait for it.
	s.serveKeys(b)
	s.pass(renewAfter)
	s.check(a, "", 0)
	s.pass(1)
	s.check(a, "", 1)
	s.check(a, "no key", 0)
	s.check(b, "", 0)
	// After waitAfter the first use waits for the reading: b was removed in the meantime.
	s.serveKeys(c)
	s.pass(waitAfter)
	s.check(b, "", 1)
	s.serveKeys(a)
	s.pass(waitAfter + 1)
	s.check(c, "no key", 1)
	s.check(a, "", 0)
}

// TestIssuerFails: a server that fails opens nothing. Keys from before count for maxAge, and are read again at the
// usual pace.
func TestIssuerFails(t *testing.T) {
	a, b := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "b")
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		words  string // of the log
	}{
		"error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = w.Write(oidctest.JWKS(t, b))
		}, "500"},
		"page":    {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }, "no JWK set"},
		"no keys": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys":[]}`)) }, "can be used"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			set := oidctest.JWKS(t, b)
			_, _ = w.Write(set[:len(set)-1])
			for line := bytes.Repeat([]byte(" "), 1<<16); ; {
				if _, err := w.Write(line); err != nil {
					return // the node has hung up
				}
			}
		}, "more than 1048576 bytes"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				http.Redirect(w, r, "/other", http.StatusFound)
				return
			}
			_, _ = w.Write(oidctest.JWKS(t, b))
		}, "302"},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newIssuer(t)
			s.serve(c.answer)
			s.check(b, ErrKeys.Error(), 1)
			s.check(b, ErrKeys.Error(), 0)
			if !strings.Contains(s.log.String(), c.words) {
				t.Errorf("the log is %q, want %q", s.log.String(), c.words)
			}
			s.serveKeys(a)
			s.pass(minPause)
			s.check(a, "", 1)
			s.serve(c.answer)
			s.pass(maxAge)
			s.check(a, "", 1)
			s.check(b, ErrKeys.Error(), 0)
			s.pass(1)
			s.check(a, ErrKeys.Error(), 0)
			s.pass(minPause)
			s.check(a, ErrKeys.Error(), 1)
			s.serveKeys(a)
			s.pass(minPause)
			s.check(a, "", 1)
		})
	}
}

// TestIssuerSlow: a server that does not answer delays only requests with unknown keys, for a bounded time, and
// has one request at a time.
func TestIssuerSlow(t *testing.T) {
	seed.Slow(t)
	s := newIssuer(t)
	a, b := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "b")
	s.serveKeys(a)
	s.check(a, "", 1)
	held, began := make(chan struct{}), make(chan struct{}, 2)
	s.serve(func(_ http.ResponseWriter, r *http.Request) {
		began <- struct{}{}
		select {
		case <-held:
		case <-r.Context().Done():
		}
	})
	defer close(held)
	s.pass(renewAfter + 1)
	// 1. Known keys do not wait.
	for range 10 {
		require.NoError(t, s.use(t.Context(), a))
	}
	// 2. Unknown ones wait no longer than their request.
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.use(ended, b); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	// 3. And not longer than the reading.
	failed := make(chan error, 10)
	start := time.Now()
	for range cap(failed) {
		go func() { failed <- s.use(t.Context(), b) }()
	}
	for range cap(failed) {
		if err := <-failed; !errors.Is(err, ErrKeys) {
			t.Error(err)
		}
	}
	if took := time.Since(start); took > 2*readTimeout {
		t.Errorf("requests waited for %s", took)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests for keys, want 1", n)
	}
	// 4. The end does not wait for the server.
	<-began
	s.pass(minPause)
	go func() { failed <- s.use(t.Context(), b) }()
	<-began
	start = time.Now()
	s.Close()
	if took := time.Since(start); took > readTimeout/2 {
		t.Errorf("the end waited for %s", took)
	}
	if err := <-failed; !errors.Is(err, ErrKeys) {
		t.Error(err)
	}
	if err := s.use(t.Context(), a); err != nil {
		t.Error(err)
	}
}
