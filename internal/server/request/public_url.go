// The public URL of the node: IRIs of graphs and links begin with it.

package request

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/triple"
)

// CheckPublicURL returns an error if [Options.PublicURL] is malformed.
func CheckPublicURL(text string) error {
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

// PublicURL is the URL of [Options.PublicURL]; "" if there is none.
type PublicURL string

// Base returns the URL of the node's root for clients, without a final slash. It is the configured
// one; if there is none, it comes from the Host header. It fails if that header is missing or
// malformed.
func (p PublicURL) Base(r *http.Request) (string, error) {
	if p != "" {
		return strings.TrimRight(string(p), "/"), nil
	}
	if r.Host == "" {
		return "", problem.Errorf(problem.KindBadRequest, "Host", "is missing: links and the IRIs of graphs begin with it")
	}
	base := "http://" + r.Host
	if r.TLS != nil {
		base = "https://" + r.Host
	}
	if u, err := url.Parse(base); err != nil || u.Host != r.Host || triple.CheckIRI(base) != nil {
		return "", problem.Errorf(problem.KindBadRequest, "Host", "%q is no host", problem.Clip(r.Host))
	}
	return base, nil
}

// OriginOf returns scheme and host of a URL. The URL must have passed CheckPublicURL.
func OriginOf(base string) string {
	if scheme, rest, ok := strings.Cut(base, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return scheme + "://" + host
	}
	return base
}
