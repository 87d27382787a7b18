// Tests of keys whose URL the issuer's configuration names.

package oidc

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trefoildb/trefoil/internal/testing/oidctest"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// newDiscovered returns an issuer below a path of the server, whose configuration the verifier reads. slash ends its URL.
func newDiscovered(t *testing.T, slash string) *issuer {
	return newIssuerWith(t, func(url string) Options { return Options{Issuer: url + "/realm" + slash} })
}

// useAs verifies a token of a key and of the server as issuer.
func (s *issuer) useAs(k oidctest.Key) error {
	_, err := s.Verify(s.t.Context(), k.Sign(s.t, claims(map[string]any{"iss": s.options.Issuer, "exp": noon.AddDate(1, 0, 0).Unix()})))
	return err
}

// TestDiscovery: the configuration is below the issuer's path, names the keys, and is read again with them.
func TestDiscovery(t *testing.T) {
	for _, slash := range []string{"", "/"} {
		s := newDiscovered(t, slash)
		a, b := oidctest.NewKey(t, "a"), oidctest.NewKey(t, "b")
		origin := strings.TrimSuffix(s.options.Issuer, "/realm"+slash)
		path, key := "/first", a
		s.serve(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/realm/.well-known/openid-configuration":
				fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"scopes_supported":["openid"]}`, s.options.Issuer, origin+path)
			case path:
				_, _ = w.Write(oidctest.JWKS(t, key))
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		})
		if err := s.useAs(a); err != nil {
			t.Fatalf("%v\n%s", err, s.log.String())
		}
		// The issuer has another key at another address.
		path, key = "/second", b
		s.pass(minPause)
		if err := s.useAs(b); err != nil {
			t.Errorf("after a change: %v\n%s", err, s.log.String())
		}
		if n := s.requests.Load(); n != 4 {
			t.Errorf("%d requests, want 4", n)
		}
	}
}

// TestDiscoveryFails: a configuration that is not the issuer's, or names keys that others could change, opens nothing.
func TestDiscoveryFails(t *testing.T) {
	key := oidctest.NewKey(t, "a")
	for name, c := range map[string]struct{ issuer, keys, words string }{
		"other issuer":    {"http://127.0.0.1/other", "KEYS", "its issuer is"},
		"no issuer":       {"", "KEYS", `its issuer is \"\"`},
		"no keys":         {"ISSUER", "", "jwks_uri"},
		"in the clear":    {"ISSUER", "http://issuer.example/keys", "jwks_uri"},
		"a user":          {"ISSUER", "https://u:secret@issuer.example/keys", "jwks_uri"},
		"another scheme":  {"ISSUER", "file:///etc/passwd", "jwks_uri"},
		"an invalid text": {"ISSUER", "https://%zz", "jwks_uri"},
		"no keys there":   {"ISSUER", "KEYS/none", "404"},
		"redirect":        {"REDIRECT", "KEYS", "302"},
		"huge":            {"ISSUER", "KEYS" + strings.Repeat("x", maxSetBytes), "more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDiscovered(t, "")
			keys := strings.TrimSuffix(s.options.Issuer, "realm") + "keys"
			s.serve(func(w http.ResponseWriter, r *http.Request) {
				switch path := r.URL.Path; {
				case path == "/realm/.well-known/openid-configuration" && c.issuer == "REDIRECT":
					http.Redirect(w, r, "/other", http.StatusFound)
				case path == "/other":
					fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, s.options.Issuer, keys)
				case path == "/realm/.well-known/openid-configuration":
					fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, strings.Replace(c.issuer, "ISSUER", s.options.Issuer, 1), strings.Replace(c.keys, "KEYS", keys, 1))
				case path == "/keys":
					_, _ = w.Write(oidctest.JWKS(t, key))
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			})
			if err := s.useAs(key); err == nil || err.Error() != ErrKeys.Error() {
				t.Errorf("the token: %v", err)
			}
			if log := s.log.String(); !strings.Contains(log, c.words) || strings.Contains(log, "secret") {
				t.Errorf("the log is %.500q, want %q", log, c.words)
			}
		})
	}
	// A remote issuer must not name a service of this machine.
	o := Options{Issuer: "https://issuer.example"}
	if _, err := o.keysURL([]byte(`{"issuer":"https://issuer.example","jwks_uri":"http://127.0.0.1/keys"}`)); err == nil || !strings.Contains(err.Error(), "https, too") {
		t.Errorf("keys at loopback: %v", err)
	}
	if _, err := o.keysURL(bytes.Repeat([]byte("["), 10)); err == nil {
		t.Error("no error for no JSON")
	}
}

// TestStart: the start reads the keys before there is a token, does not wait for the issuer, and logs its failure.
func TestStart(t *testing.T) {
	s := newDiscovered(t, "")
	key := oidctest.NewKey(t, "a")
	held := make(chan struct{})
	s.serve(func(w http.ResponseWriter, _ *http.Request) {
		<-held
		w.WriteHeader(http.StatusBadGateway)
	})
	s.Start()
	s.Start() // one request at a time
	close(held)
	s.wait()
	if log := s.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, s.options.Issuer+"/.well-known/openid-configuration: the status is 502") {
		t.Errorf("the log is %q", log)
	}
	if err := s.useAs(key); err == nil || err.Error() != ErrKeys.Error() {
		t.Errorf("the token: %v", err)
	}
	if n := s.requests.Load(); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
	// Without an issuer, and with keys of a file, there is nothing to read.
	(*Verifier)(nil).Start()
	v, err := New(Options{Issuer: "i", Audience: "a", Keys: oidctest.JWKS(t, key)})
	require.NoError(t, err)
	v.Start()
}

// TestDiscoveredIssuer: an issuer without keys is a URL from which a configuration can be read.
func TestDiscoveredIssuer(t *testing.T) {
	for _, issuer := range []string{"realm", "http://issuer.example", "https://", "https://u:secret@issuer.example/", "https://issuer.example/?a", "https://issuer.example/#a", "ftp://localhost/"} {
		if _, err := New(Options{Issuer: issuer, Audience: "a"}); err == nil || !strings.Contains(err.Error(), "https://HOST/PATH") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", issuer, err)
		}
	}
	v, err := New(Options{Issuer: "https://issuer.example/realm", Audience: "a"})
	require.NoError(t, err)
	if same, err := v.WithKeys(nil); same != v || err != nil {
		t.Errorf("without keys in a file it is the same verifier: %v", err)
	}
	v.Close()
}
