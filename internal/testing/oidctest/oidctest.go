// Keys of issuers of OpenID Connect, for tests.

// Package oidctest signs tokens and writes JWK sets.
package oidctest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Issuer and Audience are those of [Key.Bearer].
const (
	Issuer   = "https://issuer.example"
	Audience = "trefoil"
)

// Key is a key of an issuer. Its ID may be "".
type Key struct {
	ID        string
	Algorithm jose.SignatureAlgorithm
	Private   any
}

// NewKey returns a new key for ES256.
func NewKey(t testing.TB, id string) Key {
	t.Helper()
	return Key{id, jose.ES256, NewEC(t, elliptic.P256())}
}

// NewEC returns a new private key of a curve.
func NewEC(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Sign returns a token with claims, which are marshalled.
func (k Key) Sign(t testing.TB, claims any) string {
	t.Helper()
	options := &jose.SignerOptions{}
	if k.ID != "" {
		options = options.WithHeader("kid", k.ID)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: k.Algorithm, Key: k.Private}, options)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Token returns a token of a subject in groups, which is valid for an hour.
func (k Key) Token(t testing.TB, subject string, groups ...string) string {
	t.Helper()
	now := time.Now()
	return k.Sign(t, map[string]any{"iss": Issuer, "aud": Audience, "sub": subject, "groups": groups, "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix()})
}

// JWKS returns a JWK set with the public keys.
func JWKS(t testing.TB, keys ...Key) []byte {
	t.Helper()
	var set jose.JSONWebKeySet
	for _, k := range keys {
		key := jose.JSONWebKey{Key: k.Private, KeyID: k.ID, Algorithm: string(k.Algorithm), Use: "sig"}
		set.Keys = append(set.Keys, key.Public())
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
