// Tests of tokens: which are accepted, and why others are not.

package oidc

import (
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/trefoildb/trefoil/internal/testing/oidctest"
	"github.com/trefoildb/trefoil/internal/testing/require"
)

// noon is the time of most tests.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func keyOf(id string, algorithm jose.SignatureAlgorithm, private any) oidctest.Key {
	return oidctest.Key{ID: id, Algorithm: algorithm, Private: private}
}

func newRSA(t testing.TB, bits int) *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	require.NoError(t, err)
	return key
}

// claims returns valid claims with some replaced; nil removes one.
func claims(changed map[string]any) map[string]any {
	all := map[string]any{"iss": oidctest.Issuer, "aud": oidctest.Audience, "sub": "alice", "exp": noon.Add(time.Hour).Unix(), "nbf": noon.Unix(), "iat": noon.Unix()}
	maps.Copy(all, changed)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	return all
}

// TestAccepted: a token of each algorithm is accepted, and its claim has the values.
func TestAccepted(t *testing.T) {
	small := newRSA(t, 2048)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	keys := []oidctest.Key{
		keyOf("rs256", jose.RS256, small), keyOf("rs384", jose.RS384, small), keyOf("rs512", jose.RS512, small),
		keyOf("ps256", jose.PS256, small), keyOf("ps384", jose.PS384, small), keyOf("ps512", jose.PS512, small),
		keyOf("es256", jose.ES256, oidctest.NewEC(t, elliptic.P256())), keyOf("es384", jose.ES384, oidctest.NewEC(t, elliptic.P384())), keyOf("es512", jose.ES512, oidctest.NewEC(t, elliptic.P521())),
		keyOf("eddsa", jose.EdDSA, ed),
	}
	o := Options{Issuer: oidctest.Issuer, Audience: oidctest.Audience, Keys: oidctest.JWKS(t, keys...), Now: func() time.Time { return noon }}
	v, err := New(o)
	require.NoError(t, err)
	for _, k := range keys {
		got, err := v.Verify(t.Context(), k.Sign(t, claims(nil)))
		if want := (Identity{"alice", []string{"alice"}}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", k.ID, got, err)
		}
	}
	o.Claim = "groups"
	if v, err = New(o); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		claims map[string]any
		values []string
	}{
		{map[string]any{"groups": []string{"a", "b"}}, []string{"a", "b"}},
		{map[string]any{"groups": "a", "aud": []string{"x", oidctest.Audience}}, []string{"a"}},
		{map[string]any{"groups": []string{}, "nbf": nil, "iat": nil}, []string{}},
		// The clocks differ.
		{map[string]any{"groups": "a", "exp": noon.Add(-leeway).Unix(), "nbf": noon.Add(-time.Hour).Unix(), "iat": nil}, []string{"a"}},
		{map[string]any{"groups": "a", "nbf": noon.Add(leeway).Unix(), "iat": noon.Add(leeway).Unix()}, []string{"a"}},
	} {
		if got, err := v.Verify(t.Context(), keys[6].Sign(t, claims(c.claims))); err != nil || !reflect.DeepEqual(got.Values, c.values) {
			t.Errorf("%v: %+v, %v", c.claims, got, err)
		}
	}
}

// TestRejected: each reason has its text.
func TestRejected(t *testing.T) {
	key, other := oidctest.NewKey(t, "k"), oidctest.NewKey(t, "k")
	rsaKey := keyOf("r", jose.RS256, newRSA(t, 2048))
	weak := keyOf("weak", jose.RS256, newRSA(t, 1024))
	v, err := New(Options{Issuer: oidctest.Issuer, Audience: oidctest.Audience, Keys: oidctest.JWKS(t, key, rsaKey, weak), Claim: "email", Now: func() time.Time { return noon }})
	require.NoError(t, err)
	valid := claims(map[string]any{"email": "a@example.org", "email_verified": true})
	with := func(changed map[string]any) string {
		c := maps.Clone(valid)
		maps.Copy(c, changed)
		return key.Sign(t, claims(c))
	}
	good := key.Sign(t, valid)
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(rsaKey.Private.(*rsa.PrivateKey).Public())
	require.NoError(t, err)
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	parts := strings.Split(good, ".")
	body, err := json.Marshal(valid)
	require.NoError(t, err)
	for name, c := range map[string]struct{ token, words string }{
		"no JWT":                    {"secret", "signed JWT"},
		"nothing":                   {"", "signed JWT"},
		"two parts":                 {parts[0] + "." + parts[1], "signed JWT"},
		"five parts":                {good + ".a.b", "signed JWT"},
		"too long":                  {strings.Repeat("x", maxTokenBytes+1), "bytes"},
		"alg none":                  {part(`{"alg":"none","kid":"k"}`) + "." + parts[1] + ".", `"none"; only asymmetric`},
		"alg None, with signature":  {part(`{"alg":"None","kid":"k"}`) + "." + parts[1] + "." + parts[2], "only asymmetric"},
		"no alg":                    {part(`{"kid":"k"}`) + "." + parts[1] + "." + parts[2], "only asymmetric"},
		"HS256 with the public key": {keyOf("r", jose.HS256, der).Sign(t, valid), `"HS256"; only asymmetric`},
		"critical header":           {part(`{"alg":"ES256","kid":"k","crit":["x"],"x":1}`) + "." + parts[1] + "." + parts[2], "cannot be used"},
		"no kid":                    {keyOf("", jose.ES256, key.Private).Sign(t, valid), "no kid"},
		"unknown kid":               {keyOf("u", jose.ES256, key.Private).Sign(t, valid), `no key with the token's kid "u"`},
		"weak key":                  {weak.Sign(t, valid), "no key with"},
		"key of another one":        {other.Sign(t, valid), "signature"},
		"kid of another type":       {keyOf("r", jose.ES256, key.Private).Sign(t, valid), "algorithm"},
		"another algorithm":         {keyOf("r", jose.RS512, rsaKey.Private).Sign(t, valid), "algorithm"},
		"changed claims":            {parts[0] + "." + part(strings.Replace(string(body), "alice", "admin", 1)) + "." + parts[2], "signature"},
		"changed signature":         {parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), "signature"},
		"no signature":              {parts[0] + "." + parts[1] + ".", "signature"},
		"claims are a list":         {key.Sign(t, []string{"a"}), "cannot be used"},
		"expired":                   {with(map[string]any{"exp": noon.Add(-leeway - time.Second).Unix()}), "expired at 2026-11-27T11:58:59Z; here it is 2026-11-27T12:00:00Z"},
		"no exp":                    {with(map[string]any{"exp": nil}), "no exp"},
		"exp is a text":             {with(map[string]any{"exp": "never"}), "cannot be used"},
		"too early":                 {with(map[string]any{"nbf": noon.Add(leeway + time.Second).Unix()}), "not valid before"},
		"from the future":           {with(map[string]any{"iat": noon.Add(leeway + time.Second).Unix()}), "in the future"},
		"another issuer":            {with(map[string]any{"iss": oidctest.Issuer + "/"}), "another issuer"},
		"no issuer":                 {with(map[string]any{"iss": nil}), "another issuer"},
		"another audience":          {with(map[string]any{"aud": []string{"trefoil2", "TREFOIL"}}), "for others"},
		"no audience":               {with(map[string]any{"aud": nil}), "for others"},
		"no subject":                {with(map[string]any{"sub": nil}), "sub"},
		"subject with a line end":   {with(map[string]any{"sub": "a\nb"}), "sub"},
		"long subject":              {with(map[string]any{"sub": strings.Repeat("a", 256)}), "sub"},
		"email not verified":        {with(map[string]any{"email_verified": false}), "email_verified"},
		"email_verified is missing": {with(map[string]any{"email_verified": nil}), "email_verified"},
		"email_verified is null":    {key.Sign(t, json.RawMessage(strings.Replace(string(body), `"email_verified":true`, `"email_verified":null`, 1))), "email_verified"},
		"email_verified is a text":  {with(map[string]any{"email_verified": "true"}), "email_verified"},
		"no claim":                  {with(map[string]any{"email": nil}), "email is missing"},
		"claim is a number":         {with(map[string]any{"email": 1}), "neither a text nor a list"},
	} {
		identity, err := v.Verify(t.Context(), c.token)
		var rejected *RejectedError
		if !errors.As(err, &rejected) || !strings.Contains(err.Error(), c.words) || !reflect.DeepEqual(identity, Identity{}) {
			t.Errorf("%s: %+v, %v, want %q", name, identity, err, c.words)
		}
	}
}

// TestBadOptions: what is missing or would be unsafe is an error, and a set needs a key that can be used.
func TestBadOptions(t *testing.T) {
	if v, err := New(Options{}); v != nil || err != nil {
		t.Error(v, err)
	}
	keys := oidctest.JWKS(t, oidctest.NewKey(t, "k"))
	set := func(key jose.JSONWebKey) []byte {
		text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key}})
		require.NoError(t, err)
		return text
	}
	private := oidctest.NewEC(t, elliptic.P256())
	for words, o := range map[string]Options{
		"has a user":        {Issuer: "i", Audience: "a", KeysURL: "https://u:hidden@issuer.example/keys"},
		"an issuer":         {Audience: "a", Keys: keys},
		"an audience":       {Issuer: "i", Keys: keys},
		"https://HOST/PATH": {Issuer: "i", Audience: "a"},
		"the URL of":        {Issuer: "i", Audience: "a", Keys: keys, KeysURL: "https://issuer.example/keys"},
		"on the way":        {Issuer: "i", Audience: "a", KeysURL: "http://issuer.example/keys"},
		`"file:///k"`:       {Issuer: "i", Audience: "a", KeysURL: "file:///k"},
		"no JWK set":        {Issuer: "i", Audience: "a", Keys: []byte("-----BEGIN")},
		"of 0":              {Issuer: "i", Audience: "a", Keys: []byte(`{}`)},
		"of 1":              {Issuer: "i", Audience: "a", Keys: []byte(`{"keys":[{"kty":"oct","k":"c2VjcmV0","kid":"a"}]}`)},
		"public one":        {Issuer: "i", Audience: "a", Keys: set(jose.JSONWebKey{Key: private, KeyID: "private"})},
		"of the JWK":        {Issuer: "i", Audience: "a", Keys: set(jose.JSONWebKey{Key: private.Public(), KeyID: "a", Use: "enc"})},
		"with a kid":        {Issuer: "i", Audience: "a", Keys: set(jose.JSONWebKey{Key: private.Public()})},
		"more than":         {Issuer: "i", Audience: "a", Keys: make([]byte, maxSetBytes+1)},
		"can be used,":      {Issuer: "i", Audience: "a", Keys: []byte(`{"keys":[{"kty":"new","kid":"a"},{}]}`)},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v, want %q", err, words)
		}
	}
	// A key of an unknown type does not make the others useless.
	mixed := strings.Replace(string(keys), `"keys":[`, `"keys":[{"kty":"new","kid":"a"},`, 1)
	if v, err := New(Options{Issuer: "i", Audience: "a", Keys: []byte(mixed)}); err != nil || v == nil {
		t.Error(err)
	}
}
