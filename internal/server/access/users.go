// Users with names, passwords, roles and graphs.

package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/oidc"
	"github.com/trefoildb/trefoil/internal/password"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// Right is what an endpoint needs. All but [Open] are also the roles of users. The zero Right is [Admin].
type Right string

// The rights. [Write] includes [Read], and [Admin] includes all.
const (
	Open  Right = "open" // nothing, not even a password
	Read  Right = "read"
	Write Right = "write"
	Load  Right = "load" // bulk loads
	Admin Right = "admin"
)

// User is a user as the operator describes it.
type User struct {
	Name string
	Hash string // of the password, see package password; "" if it has none
	// OIDC are values of a claim: the user's rights are those of each token that has one of them.
	OIDC  []string
	Roles []string // read, write, load, admin
	// ReadGraphs and WriteGraphs are IRIs, or "default". If one is given, the user reads these graphs and writes
	// those of WriteGraphs only.
	ReadGraphs, WriteGraphs []string
}

// defaultGraph is the name of the default graph among those of a user.
const defaultGraph = "default"

// Bounds of users.
const (
	maxNameBytes = 128
	// maxVerified bounds the remembered passwords that were right.
	maxVerified = 1024
	// maxWaiting bounds the requests that wait for the hash of a password.
	maxWaiting = 64
	// maxHashes bounds the passwords that are hashed at a time, because each takes memory and a processor.
	maxHashes = 4
)

// user is a checked User.
type user struct {
	name   string
	hash   password.Hash // if it has one
	roles  []Right
	graphs *graphrights.Rights // nil is all
}

// Users are the users of a node. It is safe for concurrent use.
type Users struct {
	byName  map[string]*user // those with a password
	byValue map[string]*user // by the values of OIDC
	issuer  *oidc.Verifier   // nil if tokens of OpenID Connect are not accepted
	// stranger is compared with the passwords of unknown users, so that the time does not reveal the names.
	stranger password.Hash
	key      []byte // of the sums in verified
	waiting  atomic.Int64
	slots    chan struct{} // holds an element for each password that is hashed

	mu       sync.Mutex
	verified map[tokenSum]struct{} // of name and password, if they are right
}

// NewUsers returns users, or nil if there are none. If issuer is not nil, the tokens that it verifies are accepted, too.
// It fails if a user is invalid or has the name or the value of another one.
func NewUsers(all []User, issuer *oidc.Verifier) (*Users, error) {
	switch {
	case len(all) == 0 && issuer != nil:
		return nil, errors.New("tokens of OpenID Connect need users, because these have the roles")
	case len(all) == 0:
		return nil, nil
	}
	u := &Users{byName: map[string]*user{}, byValue: map[string]*user{}, issuer: issuer, key: make([]byte, sha256.Size), verified: map[tokenSum]struct{}{},
		slots: make(chan struct{}, max(1, min(maxHashes, runtime.GOMAXPROCS(0)/2)))}
	_, _ = rand.Read(u.key) // it never fails
	for i, one := range all {
		if slices.ContainsFunc(all[:i], func(other User) bool { return other.Name == one.Name }) {
			return nil, fmt.Errorf("the user %q is there twice", one.Name)
		}
		if err := u.add(one); err != nil {
			return nil, fmt.Errorf("the user %q: %w", one.Name, err)
		}
	}
	return u, nil
}

// add adds a user if it is valid.
func (u *Users) add(one User) error {
	checked, err := one.check()
	if err != nil {
		return err
	}
	if one.Hash != "" {
		u.byName[one.Name], u.stranger = checked, checked.hash
	}
	if len(one.OIDC) > 0 && u.issuer == nil {
		return errors.New("it has oidc, but no issuer is given (--oidc-issuer)")
	}
	for _, value := range one.OIDC {
		if value == "" || u.byValue[value] != nil {
			return fmt.Errorf("the value %q of oidc is empty or there twice", value)
		}
		u.byValue[value] = checked
	}
	return nil
}

// check returns the user if it is valid.
func (u User) check() (_ *user, err error) {
	// 1. The name, the password and the roles.
	if u.Name == "" || len(u.Name) > maxNameBytes || strings.ContainsAny(u.Name, ":\x00\r\n") {
		return nil, fmt.Errorf("a name has 1 to %d bytes, and no colon or line end", maxNameBytes)
	}
	checked := &user{name: u.Name}
	if u.Hash != "" || len(u.OIDC) == 0 {
		if checked.hash, err = password.Parse(u.Hash); err != nil {
			return nil, err
		}
	}
	for _, role := range u.Roles {
		if !slices.Contains([]Right{Read, Write, Load, Admin}, Right(role)) {
			return nil, fmt.Errorf("unknown role %q: there are read, write, load, admin", role)
		}
		checked.roles = append(checked.roles, Right(role))
	}
	if len(u.Roles) == 0 {
		return nil, fmt.Errorf("it has no roles: give read, write, load or admin")
	}
	// 2. The graphs. Contradictions are rejected, because they would be mistakes.
	limited, writes := len(u.ReadGraphs)+len(u.WriteGraphs) > 0, slices.Contains(checked.roles, Write)
	switch {
	case !limited:
		return checked, nil
	case slices.Contains(checked.roles, Admin), slices.Contains(checked.roles, Load):
		return nil, fmt.Errorf("a user with read-graphs or write-graphs cannot have the role load or admin, because these are for all graphs")
	case writes != (len(u.WriteGraphs) > 0):
		return nil, fmt.Errorf("a user with read-graphs or write-graphs has the role write if and only if it has write-graphs")
	}
	var lists [2][]triple.Term
	for i, names := range [][]string{u.ReadGraphs, u.WriteGraphs} {
		for _, name := range names {
			graph := triple.Term{}
			if name != defaultGraph {
				if err := triple.CheckIRI(name); err != nil {
					return nil, fmt.Errorf("the graph %q is neither default nor an absolute IRI: %w", name, err)
				}
				graph = triple.NewIRI(name)
			}
			if graph == systemgraph.Graph {
				return nil, fmt.Errorf("the graph %s is only for users with all graphs", systemgraph.IRI)
			}
			lists[i] = append(lists[i], graph)
		}
	}
	checked.graphs = graphrights.New(lists[0], lists[1])
	return checked, nil
}

// has reports whether the user has a right.
func (u *user) has(right Right) bool {
	return slices.Contains(u.roles, Admin) || slices.Contains(u.roles, right) || right == Read && slices.Contains(u.roles, Write)
}

// verify returns the user with a name and a password, or nil if one is wrong. A password that was right is
// remembered. Others are hashed, a few at a time. The error is busy if too many wait.
func (u *Users) verify(ctx context.Context, name, secret string) (*user, error) {
	// 1. Look among the remembered ones. The key keeps their sums worthless to others.
	if len(secret) > password.MaxBytes || len(u.byName) == 0 {
		return nil, nil
	}
	mac := hmac.New(sha256.New, u.key)
	fmt.Fprintf(mac, "%q %q", name, secret)
	sum := tokenSum(mac.Sum(nil))
	one := u.byName[name]
	if u.remembers(sum) {
		return one, nil
	}
	// 2. Wait until a hash may be computed. Another request may have computed it meanwhile.
	if u.waiting.Add(1) > maxWaiting {
		u.waiting.Add(-1)
		return nil, problem.Busyf("too many passwords are checked at the moment")
	}
	defer u.waiting.Add(-1)
	select {
	case u.slots <- struct{}{}:
		defer func() { <-u.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if u.remembers(sum) {
		return one, nil
	}
	// 3. Compute it, also if there is no such user.
	if one == nil {
		u.stranger.Verify(secret)
		return nil, nil
	}
	if !one.hash.Verify(secret) {
		return nil, nil
	}
	u.remember(sum)
	return one, nil
}

func (u *Users) remembers(sum tokenSum) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.verified[sum]
	return ok
}

// remember keeps the sum of a right password. If there are too many, any other one is forgotten.
func (u *Users) remember(sum tokenSum) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for other := range u.verified {
		if len(u.verified) < maxVerified {
			break
		}
		delete(u.verified, other)
	}
	u.verified[sum] = struct{}{}
}

// named returns the user's name and the password of a request: those of Basic, or of Bearer NAME:PASSWORD.
func named(r *http.Request) (name, secret string, ok bool) {
	if name, secret, ok := r.BasicAuth(); ok {
		return name, secret, true
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	name, secret, ok = strings.Cut(strings.TrimSpace(text), ":")
	return name, secret, ok && strings.EqualFold(scheme, "Bearer")
}

// Rule is what an endpoint needs.
type Rule struct {
	Right Right
	// Graphs means that it answers users with some graphs only, about these graphs.
	Graphs bool
	// Operators means that the operators' token is needed, if there is one. Otherwise the clients' token has all rights.
	Operators bool
}

// Permit returns an error if the caller is a user who may not send a request to an endpoint with a rule. What
// tokens permit, [Tokens.Identify] has checked.
func (c Caller) Permit(rule Rule) error {
	switch {
	case c.user == nil || rule.Right == Open:
		return nil
	case rule.Right == "":
		rule.Right = Admin
	}
	if !c.user.has(rule.Right) {
		return problem.Errorf(problem.KindForbidden, "Authorization", "this needs the role %s, and the user %s has %s", rule.Right, c.user.name, joined(c.user.roles))
	}
	if c.user.graphs != nil && !rule.Graphs {
		return problem.Errorf(problem.KindForbidden, "Authorization", "this is of all graphs, and the user %s has some graphs only; use /triples, /range, /count, /data or /sparql, and for links /links/get, /links/sample, /links/degrees, /links/rank, /links/uids and /links/urls", c.user.name)
	}
	return nil
}

func joined(roles []Right) string {
	texts := make([]string, len(roles))
	for i, role := range roles {
		texts[i] = string(role)
	}
	return strings.Join(texts, ", ")
}

// Graphs returns the graphs that the caller may read and write; nil is all.
func (c Caller) Graphs() *graphrights.Rights {
	if c.user == nil {
		return nil
	}
	return c.user.graphs
}
