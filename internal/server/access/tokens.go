// Identities of requests by tokens and users, and the checks before a change.

package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/server/problem"
)

// Tokens are the accepted tokens. operators may also change the members of a cluster; clients holds
// all. If a list is empty, no token is needed, unless there are users.
type Tokens struct {
	users              *Users // nil if there are none
	clients, operators []tokenSum
	applications       []application
	clientsOperate     bool // the clients' token is that of operators
}

// Current holds the accepted tokens, which may be replaced. It is safe for concurrent use.
type Current struct{ atomic.Pointer[Tokens] }

// NewCurrent returns a Current that holds tokens.
func NewCurrent(t Tokens) *Current {
	c := &Current{}
	c.Store(&t)
	return c
}

type tokenSum [sha256.Size]byte

// NewTokens returns the accepted tokens. Applications count only if there is a client's token.
func NewTokens(client, operator string, applications []Application) (t Tokens) {
	if operator != "" {
		t.operators = []tokenSum{sha256.Sum256([]byte(operator))}
	}
	if client != "" {
		t.clients = append([]tokenSum{sha256.Sum256([]byte(client))}, t.operators...)
		if operator == "" {
			t.operators, t.clientsOperate = t.clients, true
		}
		for _, a := range applications {
			sum := sha256.Sum256([]byte(a.Token))
			t.applications = append(t.applications, application{a.ID, sum, a.Readers})
			t.clients = append(t.clients[:len(t.clients):len(t.clients)], sum)
		}
	}
	return t
}

// WithUsers returns tokens that accept users, too; nil is none.
func (t Tokens) WithUsers(u *Users) Tokens {
	t.users = u
	return t
}

// needed reports whether each request needs a token or a password.
func (t Tokens) needed() bool { return len(t.clients) > 0 || t.users != nil }

// Identify returns the identity of a request. It rejects the request if it has neither a valid token nor the name
// and password of a user. Of a user it does not check what it may do, see [Caller.Permit]. With an error the identity
// is that of a user whose token is valid, but names nobody, or empty.
func (t Tokens) Identify(r *http.Request, operator bool) (Caller, error) {
	sum, ok := given(r)
	if t.users == nil || ok && (containsSum(t.clients, sum) || containsSum(t.operators, sum)) {
		if err := t.check(r, operator); err != nil {
			return Caller{}, err
		}
		return t.Caller(r), nil
	}
	u, err := t.users.identify(r)
	if u == nil {
		return Caller{}, err
	}
	admin := u.has(Admin)
	return Caller{user: u, kind: UserKind, operator: admin, proven: admin, applications: t.applications,
		all: admin || len(t.applications) == 0}, err
}

// check rejects a request if it has no valid token. It compares in constant time, whatever the
// lengths.
func (t Tokens) check(r *http.Request, operator bool) error {
	all := t.clients
	if operator {
		all = t.operators
	}
	if len(all) == 0 {
		return nil
	}
	header := r.Header.Get("Authorization")
	sum, ok := given(r)
	if ok && containsSum(all, sum) {
		return nil
	}
	message := "the token is not this node's"
	switch {
	case header == "":
		message = "this node wants a token: Authorization: Bearer TOKEN, or Basic with the token as password"
	case operator && containsSum(t.clients, sum):
		message = "this is for operators, and needs the token of --operator-token-file"
	}
	return unauthorized(r, message)
}

// unauthorized returns the error of a request without a valid token or password.
func unauthorized(r *http.Request, message string) error {
	e := problem.Errorf(problem.KindUnauthorized, "Authorization", "%s", message)
	e.Challenges = []string{`Bearer realm="trefoil"`}
	// A browser would ask its user for each failed request of a script.
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode == "" || mode == "navigate" {
		e.Challenges = append(e.Challenges, `Basic realm="trefoil", charset="UTF-8"`)
	}
	return e
}

// given returns the token of a request: that of Bearer, or the password of Basic with any user. ok is
// false if its scheme is another.
func given(r *http.Request) (sum tokenSum, ok bool) {
	if _, password, ok := r.BasicAuth(); ok {
		return sha256.Sum256([]byte(password)), true
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return sha256.Sum256([]byte(strings.TrimSpace(text))), strings.EqualFold(scheme, "Bearer")
}

func containsSum(all []tokenSum, sum tokenSum) bool {
	found := 0
	for _, t := range all {
		found |= subtle.ConstantTimeCompare(sum[:], t[:])
	}
	return found == 1
}

// CheckOrigin rejects a change if a browser sends it for a page of another origin.
func (c *Changes) CheckOrigin(r *http.Request) error {
	if err := c.Origins.Check(r); err != nil {
		return problem.Errorf(problem.KindForbidden, "Origin", "a web page of another origin may not change data, unless serve --cors names the origin: %v", err)
	}
	return nil
}

// Sandbox keeps browsers from running the content of an answer. Stored data may look like a page:
// browsers show RDF/XML and XML as XHTML if it has such elements. Scripts in it must not act for
// the node's origin.
func Sandbox(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
}

// Changes decides whether a request may change data.
type Changes struct {
	Origins  *http.CrossOriginProtection
	Full     error // error if the disk has no room; nil if it has
	ReadOnly bool
}

// Check returns an error if a request must not change data: its origin, a full disk, or a read-only
// node.
func (c *Changes) Check(r *http.Request) error {
	if err := c.CheckOrigin(r); err != nil {
		return err
	}
	if c.Full != nil {
		return c.Full
	}
	if c.ReadOnly {
		return problem.Errorf(problem.KindReadOnly, "", "this node takes no changes: it serves read-only")
	}
	return nil
}
