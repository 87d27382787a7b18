// The URL under which clients reach the node: IRIs of graphs and links begin
// with it.

package httpapi

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/trefoildb/trefoil/triple"
)

// checkPublicURL says what is wrong with [Options.PublicURL].
func checkPublicURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		strings.ContainsAny(text, "?#") || triple.CheckIRI(text) != nil {
		return fmt.Errorf("http: the public URL %q is not one like https://data.example.org or https://example.org/trefoil", text)
	}
	return nil
}

// baseURL returns the URL of the node's root as clients see it, without a slash
// at its end: the configured one or, without it, what the Host header says.
func (a *API) baseURL(r *http.Request) (string, error) {
	if a.options.PublicURL != "" {
		return strings.TrimRight(a.options.PublicURL, "/"), nil
	}
	if r.Host == "" {
		return "", errorf(KindBadRequest, "Host", "is missing: links and the IRIs of graphs begin with it")
	}
	base := "http://" + r.Host
	if r.TLS != nil {
		base = "https://" + r.Host
	}
	if u, err := url.Parse(base); err != nil || u.Host != r.Host || triple.CheckIRI(base) != nil {
		return "", errorf(KindBadRequest, "Host", "%q is no host", clip(r.Host))
	}
	return base, nil
}

// originOf returns scheme and host of a URL that passed checkPublicURL.
func originOf(base string) string {
	if scheme, rest, ok := strings.Cut(base, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + host
	}
	return base
}
