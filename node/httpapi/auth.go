// Who may come in: the token, and no web page of another origin.

package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// token is what a request must bring; the zero token is none.
type token struct {
	required bool
	sum      [sha256.Size]byte
}

func newToken(text string) token {
	return token{required: text != "", sum: sha256.Sum256([]byte(text))}
}

// check compares in constant time, whatever the lengths.
func (t token) check(r *http.Request) error {
	if !t.required {
		return nil
	}
	header := r.Header.Get("Authorization")
	scheme, given, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1 && strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	if header == "" {
		return errorf(KindUnauthorized, "Authorization", "this node wants a token: Authorization: Bearer TOKEN")
	}
	return errorf(KindUnauthorized, "Authorization", "the token is not this node's")
}

// checkOrigin refuses changes that a browser sends for a page of another origin.
func checkOrigin(protection *http.CrossOriginProtection, r *http.Request) error {
	if err := protection.Check(r); err != nil {
		return errorf(KindForbidden, "Origin", "a web page of another origin may not change data, unless serve --cors names the origin: %v", err)
	}
	return nil
}

// sandbox keeps browsers from running what an answer holds. Stored data may be made
// to look like a page: RDF/XML and XML are shown as XHTML where their elements are,
// and what runs in it would act for the node's origin.
func sandbox(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
}
