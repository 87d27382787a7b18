// The configuration of an issuer, which names the URL of its keys.
//
// Source: OpenID Connect Discovery 1.0, section 4.

package oidc

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// checkIssuer returns an error if the issuer is no URL that can have a configuration.
func (o *Options) checkIssuer() error {
	u, err := url.Parse(o.Issuer)
	if err != nil || !isSafe(u) || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("the issuer is %q: without the URL of its keys it is https://HOST/PATH without a user, a query and a fragment, or http at loopback", hideUser(u, o.Issuer))
	}
	return nil
}

// configurationURL returns the URL of the issuer's configuration.
func (o *Options) configurationURL() string {
	return strings.TrimSuffix(o.Issuer, "/") + "/.well-known/openid-configuration"
}

// keysURL returns the URL of the keys in a configuration. The configuration must be of this issuer, because otherwise
// one issuer of a host could sign for another one.
func (o *Options) keysURL(text []byte) (string, error) {
	var c struct {
		Issuer  string `json:"issuer"`
		KeysURL string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return "", fmt.Errorf("it is no configuration of an issuer: %w", err)
	}
	if c.Issuer != o.Issuer {
		return "", fmt.Errorf("its issuer is %.200q, not %q", c.Issuer, o.Issuer)
	}
	u, err := url.Parse(c.KeysURL)
	if err != nil || !isSafe(u) || u.User != nil {
		return "", fmt.Errorf("its jwks_uri is %.200q, not https://HOST/PATH without a user", hideUser(u, c.KeysURL))
	}
	// A remote issuer must not lead the node to a service of its own machine in the clear.
	if u.Scheme == "http" && !strings.HasPrefix(o.Issuer, "http:") {
		return "", fmt.Errorf("its jwks_uri is %.200q: of an issuer with https it has https, too", c.KeysURL)
	}
	return c.KeysURL, nil
}

// isSafe reports whether nobody on the way can change what is read from a URL.
func isSafe(u *url.URL) bool {
	return u.Host != "" && (u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()))
}

// hideUser returns the text of a URL for an error, without its user.
func hideUser(u *url.URL, text string) string {
	if u == nil || u.User == nil {
		return text
	}
	same := *u
	same.User = nil
	return same.String()
}
