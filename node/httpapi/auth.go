// Who may come in: the token, and no web page of another origin.

package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
)

// tokens are what requests must bring. operators holds those that may also change the
// members of a cluster; clients holds all. An empty list asks for none.
type tokens struct{ clients, operators []tokenSum }

type tokenSum [sha256.Size]byte

func newTokens(client, operator string) (t tokens) {
	if operator != "" {
		t.operators = []tokenSum{sha256.Sum256([]byte(operator))}
	}
	if client != "" {
		t.clients = append([]tokenSum{sha256.Sum256([]byte(client))}, t.operators...)
		if operator == "" {
			t.operators = t.clients
		}
	}
	return t
}

// check rejects a request without a token that does. It compares in constant time,
// whatever the lengths.
func (t tokens) check(r *http.Request, operator bool) error {
	all := t.clients
	if operator {
		all = t.operators
	}
	if len(all) == 0 {
		return nil
	}
	header := r.Header.Get("Authorization")
	scheme, given, _ := strings.Cut(header, " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if strings.EqualFold(scheme, "Bearer") && among(all, sum) {
		return nil
	}
	switch {
	case header == "":
		return errorf(KindUnauthorized, "Authorization", "this node wants a token: Authorization: Bearer TOKEN")
	case operator && among(t.clients, sum):
		return errorf(KindUnauthorized, "Authorization", "this changes the members of the cluster, and needs the token of --operator-token-file")
	}
	return errorf(KindUnauthorized, "Authorization", "the token is not this node's")
}

func among(all []tokenSum, sum tokenSum) bool {
	found := 0
	for _, t := range all {
		found |= subtle.ConstantTimeCompare(sum[:], t[:])
	}
	return found == 1
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
