// Tests with real servers on loopback.

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trefoildb/trefoil/internal/outbound"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSender(t *testing.T, o Options) *Sender {
	t.Helper()
	s, err := NewSender(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func message(url string) *Message {
	return &Message{
		URL: url, ID: "name-1", Secret: []byte("secret"), ContentType: "application/x-ndjson",
		Header: http.Header{"Trefoil-Subscription": {"name"}}, Body: []byte("{}\n"),
	}
}

// TestSend checks the request, as a receiver does.
func TestSend(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		h := r.Header
		if err != nil || r.Method != http.MethodPost || string(body) != "{}\n" || h.Get("Trefoil-Subscription") != "name" ||
			!Verify([]byte("secret"), h.Get("webhook-id"), h.Get("webhook-timestamp"), h.Get("webhook-signature"), body, time.Now(), time.Minute) {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	s := newSender(t, Options{AllowHosts: []string{server.URL}}) // http://127.0.0.1:port
	require.NoError(t, s.Send(t.Context(), message(server.URL+"/hook?a=b")))
}

// TestSignature uses the example of the specification's reference implementation.
func TestSignature(t *testing.T) {
	secret, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	require.NoError(t, err)
	const id, body, want = "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	at := time.Unix(1614265330, 0)
	if got := Sign(secret, id, at, []byte(body)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	for name, c := range map[string]struct {
		secret, id, stamp, signature, body string
		now                                time.Time
		want                               bool
	}{
		"right":        {string(secret), id, stamp, "v1,AAAA " + want, body, at.Add(time.Minute), true},
		"old":          {string(secret), id, stamp, want, body, at.Add(time.Hour), false},
		"other body":   {string(secret), id, stamp, want, body + " ", at, false},
		"other id":     {string(secret), "msg", stamp, want, body, at, false},
		"other secret": {"secret", id, stamp, want, body, at, false},
		"other time":   {string(secret), id, "1614265331", want, body, at, false},
		"no time":      {string(secret), id, "now", want, body, at, false},
		"no signature": {string(secret), id, stamp, "", body, at, false},
	} {
		if got := Verify([]byte(c.secret), c.id, c.stamp, c.signature, []byte(c.body), c.now, 5*time.Minute); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	back, err := ParseSecret(SecretText(DeriveSecret([]byte("key"), "name")))
	if err != nil || string(back) != string(DeriveSecret([]byte("key"), "name")) || string(back) == string(DeriveSecret([]byte("key"), "other")) {
		t.Error(err)
	}
}

// TestHosts checks which URLs are allowed, before and while a connection is made.
func TestHosts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a forbidden host was reached") }))
	defer server.Close()
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	// localhost is allowed as a name, but its address is not.
	s := newSender(t, Options{AllowHosts: []string{"example.org", "http://localhost:*", "localhost:*", "http://plain.example"}})
	for target, want := range map[string]string{
		server.URL:                      "127.0.0.1",
		"http://localhost:" + u.Port():  "not public",
		"https://localhost:" + u.Port(): "not public",
		"http://example.org/":           "https only",
		"https://plain.example/":        "not allowed",
		"https://other.example/":        "--webhook-host",
		"ftp://example.org/":            "not https",
		"https://user@example.org/":     "user",
		"https://example.org:22/":       "not allowed",
		"https://169.254.169.254/":      "not allowed",
		"%":                             "invalid",
		"https://example.org/" + strings.Repeat("a", maxURL): "bytes",
	} {
		err := s.Send(t.Context(), message(target))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", target, err, want)
		}
		if strings.Contains(want, "not") && !errors.Is(err, outbound.ErrHost) {
			t.Errorf("%s: %v is no ErrHost", target, err)
		}
	}
	for _, entry := range []string{"", "ftp://a", "http://", "https://a/b"} {
		if _, err := NewSender(Options{AllowHosts: []string{entry}}); err == nil {
			t.Errorf("%q is taken", entry)
		}
	}
}

// TestFailures checks receivers that answer wrongly, slowly, or not at all.
func TestFailures(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/redirect":
			http.Redirect(w, r, "http://169.254.169.254/", http.StatusTemporaryRedirect)
		case "/busy":
			w.Header().Set("Retry-After", "120")
			http.Error(w, "come\nlater\x1b[2J", http.StatusServiceUnavailable)
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/hangs":
			<-release
		case "/endless", "/endless-error":
			if r.URL.Path == "/endless-error" {
				w.WriteHeader(http.StatusInternalServerError)
			}
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		case "/slow-answer":
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-release
		case "/headers":
			w.Header().Set("X", strings.Repeat("a", 1<<20))
		case "/cut":
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	defer close(release)
	s := newSender(t, Options{AllowHosts: []string{server.URL}, Timeout: 300 * time.Millisecond})
	for path, want := range map[string]string{
		"/redirect": "307", "/busy": "503 Service Unavailable: come later", "/gone": "410", "/hangs": "did not answer within 300ms",
		"/endless": "", "/endless-error": "500", "/slow-answer": "", "/headers": "header", "/cut": "EOF",
	} {
		err := s.Send(t.Context(), message(server.URL+path))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if err != nil && strings.Contains(err.Error(), path) {
			t.Errorf("%s: the URL is in %q", path, err)
		}
		var status *StatusError
		if errors.As(err, &status) && (status.Gone != (path == "/gone") || path == "/busy" && status.RetryAfter != 2*time.Minute) {
			t.Errorf("%s: %+v", path, status)
		}
	}
	// Nobody listens.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	s = newSender(t, Options{AllowHosts: []string{"http://127.0.0.1:*"}})
	if err := s.Send(t.Context(), message("http://"+l.Addr().String())); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Error(err)
	}
	// The caller ends the try.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Send(ctx, message(server.URL)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestTLS checks that an unknown certificate is refused.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	s := newSender(t, Options{AllowHosts: []string{u.Host}})
	var unknown x509.UnknownAuthorityError
	if err := s.Send(t.Context(), message(server.URL)); !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	s.clients["https"].Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	require.NoError(t, s.Send(t.Context(), message(server.URL)))
}

// TestPolicy checks waits and limits.
func TestPolicy(t *testing.T) {
	p := Policy{FirstWait: time.Second, MaxWait: time.Minute, MaxRetryAfter: 10 * time.Minute, MaxTries: 8, MaxAge: time.Hour}
	failed := errors.New("failed")
	for name, c := range map[string]struct {
		tries  int
		age    time.Duration
		err    error
		random float64
		wait   time.Duration
		giveUp bool
	}{
		"first":             {1, 0, failed, 0, 500 * time.Millisecond, false},
		"first, late":       {1, 0, failed, 0.5, 750 * time.Millisecond, false},
		"third":             {3, 0, failed, 0, 2 * time.Second, false},
		"limit of the wait": {7, 0, failed, 0, 30 * time.Second, false},
		"last try":          {8, 0, failed, 0, 30 * time.Second, true},
		"old":               {2, time.Hour, failed, 0, time.Second, true},
		"gone":              {1, 0, &StatusError{Gone: true}, 0, 500 * time.Millisecond, true},
		"retry after":       {1, 0, &StatusError{RetryAfter: 2 * time.Minute}, 0, 2 * time.Minute, false},
		"too long after":    {1, 0, &StatusError{RetryAfter: 24 * time.Hour}, 0, 10 * time.Minute, false},
		"soon after":        {7, 0, &StatusError{RetryAfter: time.Second}, 0, 30 * time.Second, false},
	} {
		if wait, giveUp := p.Next(c.tries, c.age, c.err, c.random); wait != c.wait || giveUp != c.giveUp {
			t.Errorf("%s: %s, %v, want %s, %v", name, wait, giveUp, c.wait, c.giveUp)
		}
	}
	// Very many tries do not overflow.
	if wait, _ := (Policy{MaxTries: 1 << 30}).Next(1<<20, 0, failed, 0.999); wait > 5*time.Minute || wait < 2*time.Minute {
		t.Error(wait)
	}
	if at := time.Now(); retryAfter(at.Add(time.Minute).UTC().Format(http.TimeFormat), at) < 58*time.Second || retryAfter("soon", at) != 0 || retryAfter("-1", at) != 0 {
		t.Error("Retry-After")
	}
}
