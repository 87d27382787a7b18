// Verification of tokens: signature, issuer, audience and times.

// Package oidc verifies the bearer tokens of an OpenID Connect issuer: JSON Web Tokens (RFC 7519), signed with a
// key of a JWK set (RFC 7517). A [Verifier] has the keys of a file, or reads them from a URL and again when
// they may have changed. The issuer's configuration may name the URL. It returns the [Identity] of a token; what that may do is decided in package access.
package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Bounds of tokens.
const (
	maxTokenBytes   = 16 << 10
	maxSubjectBytes = 255 // OpenID Connect Core 1.0, section 2
	// leeway is how far the clocks of issuer and node may differ.
	leeway = time.Minute
)

// DefaultClaim is the claim of [Options] without one.
const DefaultClaim = "sub"

// emailClaim counts only with email_verified, because a person may enter any address at some issuers.
const emailClaim = "email"

// algorithms are the accepted ones. None has a secret that the node would share with the issuer, because
// a machine that can verify such a token can also make one.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Options are the parameters of [New].
type Options struct {
	// Issuer and Audience must be in the claims iss and aud of each token.
	Issuer, Audience string
	// Claim is the claim whose values name users: a text or a list of texts; "" is [DefaultClaim].
	// With email, tokens also need email_verified: true.
	Claim string
	// Keys is a JWK set with the issuer's keys. KeysURL is the URL of one, with https, or with http at loopback.
	// At most one of both is given. Without both the issuer's configuration names the URL (OpenID Connect
	// Discovery 1.0), and Issuer is a URL of the same kind.
	Keys    []byte
	KeysURL string

	// Now returns the time; nil is time.Now.
	Now func() time.Time
	// Logger gets failures to read keys; nil discards them.
	Logger *slog.Logger
}

// IsZero reports whether no tokens are accepted.
func (o Options) IsZero() bool {
	return o.Issuer == "" && o.Audience == "" && o.Claim == "" && o.Keys == nil && o.KeysURL == ""
}

// validate returns an error if an option is missing or malformed.
func (o Options) validate() error {
	switch {
	case o.Issuer == "" || o.Audience == "":
		return errors.New("tokens of OpenID Connect need an issuer and an audience")
	case o.Keys != nil && o.KeysURL != "":
		return errors.New("the keys of the OpenID Connect issuer are a JWK set, or the URL of one: give one of both")
	case o.Keys != nil:
		return nil
	case o.KeysURL == "":
		return o.checkIssuer()
	}
	u, err := url.Parse(o.KeysURL)
	if err == nil && u.User != nil { // its password would be in the log
		return fmt.Errorf("the URL of the issuer's keys at %q has a user: leave it out, because keys are public", u.Host)
	}
	if err != nil || !isSafe(u) {
		return fmt.Errorf("the URL of the issuer's keys is %q: it is https://HOST/PATH, because others could change the keys on the way, or http at loopback", o.KeysURL)
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Identity is what a verified token states.
type Identity struct {
	Subject string   // the claim sub
	Values  []string // of Options.Claim
}

// RejectedError means that a token is not valid. Its text is for the client.
type RejectedError struct{ Reason string }

// Error returns the reason.
func (e *RejectedError) Error() string { return e.Reason }

func rejectf(format string, args ...any) error {
	return &RejectedError{Reason: fmt.Sprintf(format, args...)}
}

// Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	options Options
	keys    source
}

// source returns the keys with an ID. It returns [ErrKeys] if they cannot be read.
type source interface {
	find(ctx context.Context, id string) ([]jose.JSONWebKey, error)
}

// New returns a verifier. It starts nothing: a URL is read by Start, or for the first token. Without options it is nil.
func New(o Options) (*Verifier, error) {
	if o.IsZero() {
		return nil, nil
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.Claim = cmp.Or(o.Claim, DefaultClaim)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	v := &Verifier{options: o}
	if o.Keys == nil {
		v.keys = newRemote(o)
		return v, nil
	}
	keys, err := parseKeys(o.Keys)
	if err != nil {
		return nil, fmt.Errorf("the keys of the issuer %s: %w", o.Issuer, err)
	}
	v.keys = keys
	return v, nil
}

// WithKeys returns a verifier with another JWK set. If the verifier reads a URL, it returns the verifier itself.
func (v *Verifier) WithKeys(keys []byte) (*Verifier, error) {
	if v == nil || v.options.Keys == nil {
		return v, nil
	}
	if keys == nil {
		return nil, errors.New("the JWK set of the issuer is missing") // New would query the issuer instead
	}
	o := v.options
	o.Keys = keys
	return New(o)
}

// Start begins to read the keys of a URL, so that a wrong issuer is in the log before a token comes. It does not wait:
// an issuer that is down keeps no node from its other clients.
func (v *Verifier) Start() {
	if v == nil {
		return
	}
	if r, ok := v.keys.(*remote); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.begin()
	}
}

// Claim returns the claim that names users.
func (v *Verifier) Claim() string { return v.options.Claim }

// Close ends what reads keys, and waits for it.
func (v *Verifier) Close() {
	if v == nil {
		return
	}
	if r, ok := v.keys.(*remote); ok {
		r.close()
	}
}

// Verify returns the identity of a token. The error is a [RejectedError] if the token is not valid, and
// [ErrKeys] if the issuer's keys cannot be read.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	// 1. Find the key. Nothing in the token is trusted yet.
	if len(token) > maxTokenBytes {
		return Identity{}, rejectf("the token has %d bytes; up to %d are accepted", len(token), maxTokenBytes)
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	var unexpected *jose.ErrUnexpectedSignatureAlgorithm
	switch {
	case errors.As(err, &unexpected):
		return Identity{}, rejectf("the token is signed with %.20q; only asymmetric algorithms are accepted: %s", unexpected.Got, algorithms)
	case err != nil:
		return Identity{}, rejectf("the token is neither one of this node's nor a signed JWT in three parts")
	}
	header := parsed.Headers[0]
	if header.KeyID == "" {
		return Identity{}, rejectf("the token has no kid, which names its key")
	}
	keys, err := v.keys.find(ctx, header.KeyID)
	if err != nil {
		return Identity{}, err
	}
	if len(keys) == 0 {
		return Identity{}, rejectf("the issuer has no key with the token's kid %.100q", header.KeyID)
	}
	// 2. Check the signature. Several keys may have one ID if their algorithms differ.
	var claims jwt.Claims
	var all map[string]json.RawMessage
	err = errors.New("no key has the token's algorithm")
	for _, key := range keys {
		if key.Algorithm == "" || key.Algorithm == header.Algorithm {
			if err = parsed.Claims(key.Key, &claims, &all); err == nil {
				break
			}
		}
	}
	switch {
	case errors.Is(err, jose.ErrCryptoFailure):
		return Identity{}, rejectf("the signature of the token is wrong")
	case err != nil:
		return Identity{}, rejectf("the token cannot be used: %v", err)
	}
	if err := v.check(claims); err != nil {
		return Identity{}, err
	}
	if v.options.Claim == emailClaim {
		var verified bool
		if json.Unmarshal(all["email_verified"], &verified) != nil || !verified {
			return Identity{}, rejectf("the token's email is not verified: its claim email_verified is not true")
		}
	}
	values, err := texts(all[v.options.Claim])
	if err != nil {
		return Identity{}, rejectf("the token's claim %s %v", v.options.Claim, err)
	}
	return Identity{Subject: claims.Subject, Values: values}, nil
}

// check checks the registered claims. nbf and iat are optional, as in RFC 9068, because many issuers leave nbf out.
func (v *Verifier) check(c jwt.Claims) error {
	o := v.options
	switch {
	case c.Expiry == nil:
		return rejectf("the token has no exp: it would be valid for ever")
	case c.Subject == "" || len(c.Subject) > maxSubjectBytes || !utf8.ValidString(c.Subject) || strings.ContainsFunc(c.Subject, unicode.IsControl):
		return rejectf("the token's sub must have 1 to %d bytes, without control characters", maxSubjectBytes)
	}
	now := o.Now()
	err := c.ValidateWithLeeway(jwt.Expected{Issuer: o.Issuer, AnyAudience: jwt.Audience{o.Audience}, Time: now}, leeway)
	at := now.UTC().Format(time.RFC3339)
	switch {
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return rejectf("the token is of another issuer: its iss is %.200q, not %q", c.Issuer, o.Issuer)
	case errors.Is(err, jwt.ErrInvalidAudience):
		return rejectf("the token is for others: its aud has %.200q, not %q", c.Audience, o.Audience)
	case errors.Is(err, jwt.ErrExpired):
		return rejectf("the token expired at %s; here it is %s", c.Expiry.Time().UTC().Format(time.RFC3339), at)
	case errors.Is(err, jwt.ErrNotValidYet):
		return rejectf("the token is not valid before %s (nbf); here it is %s", c.NotBefore.Time().UTC().Format(time.RFC3339), at)
	case errors.Is(err, jwt.ErrIssuedInTheFuture):
		return rejectf("the token was issued at %s (iat), in the future: here it is %s", c.IssuedAt.Time().UTC().Format(time.RFC3339), at)
	case err != nil:
		return rejectf("the token cannot be used: %v", err)
	}
	return nil
}

// texts returns the values of a claim.
func texts(claim json.RawMessage) ([]string, error) {
	var one string
	var list []string
	switch {
	case claim == nil:
		return nil, errors.New("is missing")
	case json.Unmarshal(claim, &one) == nil:
		return []string{one}, nil
	case json.Unmarshal(claim, &list) == nil:
		return list, nil
	}
	return nil, errors.New("is neither a text nor a list of texts")
}
