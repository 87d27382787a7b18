// Cross-origin requests: the rights of web pages of other origins to read and change data (Fetch
// standard, section "HTTP-CORS protocol").

package access

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// CORS holds the allowed origins. The zero CORS allows none.
type CORS struct {
	all     bool // "*": every page may read
	origins []string
}

func NewCORS(allow []string) CORS {
	c := CORS{all: slices.Contains(allow, "*")}
	for _, origin := range allow {
		if origin != "*" {
			c.origins = append(c.origins, strings.ToLower(origin)) // as browsers write them
		}
	}
	return c
}

// CheckOrigins returns an error if one of the texts is not an origin.
func CheckOrigins(allow []string) error {
	for _, origin := range allow {
		if origin == "*" {
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin || strings.Contains(origin, "*") {
			return fmt.Errorf("http: %q is not an origin like https://app.example.org (scheme, host, port; no path), nor *", origin)
		}
	}
	return nil
}

// Trust lets pages of the named origins change data. "*" does not, because on a node without a
// token every page that its users visit could do so.
func (c CORS) Trust(protection *http.CrossOriginProtection) error {
	for _, origin := range c.origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			return fmt.Errorf("allow origin: %w", err)
		}
	}
	return nil
}

// exposed are the headers that a page may read, besides those that are always safe.
const exposed = "Accept-Query, Allow, Content-Length, ETag, Link, Location, Retry-After, Trefoil-Degraded, Trefoil-Links-Epoch, Trefoil-Majority, Trefoil-Warning, Vary, WWW-Authenticate, X-Request-Id"

// Allow sets the headers that let the page of a request read its answer, if its origin is allowed.
func (c CORS) Allow(h http.Header, r *http.Request) {
	if !c.all && len(c.origins) == 0 {
		return
	}
	if len(c.origins) > 0 {
		h.Add("Vary", "Origin") // also without the header, because a cache must not mix the two up
	}
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return
	case slices.Contains(c.origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
	case c.all:
		h.Set("Access-Control-Allow-Origin", "*")
	default:
		return
	}
	h.Set("Access-Control-Expose-Headers", exposed)
}

// maxPreflightHeaders bounds the header names of a preflight.
const maxPreflightHeaders = 4 << 10

// AnswerOptions answers OPTIONS with the methods of a path. If it is a preflight of a page with an
// allowed origin, the answer lets the page go on.
func (c CORS) AnswerOptions(w http.ResponseWriter, r *http.Request, methods []string) {
	h := w.Header()
	h.Set("Allow", strings.Join(methods, ", "))
	if h.Get("Access-Control-Allow-Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
		h.Del("Access-Control-Expose-Headers")
		h.Add("Vary", "Access-Control-Request-Headers")
		h.Set("Access-Control-Allow-Methods", strings.Join(methods, ", "))
		h.Set("Access-Control-Max-Age", "600")
		if names := strings.Join(r.Header.Values("Access-Control-Request-Headers"), ","); areFieldNames(names) {
			h.Set("Access-Control-Allow-Headers", names)
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// areFieldNames reports whether text is a list of header names.
func areFieldNames(text string) bool {
	if text == "" || len(text) > maxPreflightHeaders {
		return false
	}
	for _, c := range []byte(text) {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && !strings.ContainsRune("-_, ", rune(c)) {
			return false
		}
	}
	return true
}
