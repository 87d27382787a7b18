// Users by tokens of OpenID Connect.

package access

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/oidc"
	"github.com/trefoildb/trefoil/internal/server/problem"
)

// subjectPrefix begins the names of users with a token of OpenID Connect. No other name has a colon.
const subjectPrefix = "oidc:"

// identify returns the user of a request: by name and password, or by a token of OpenID Connect.
// With an error the user is nil, unless the token is valid and has no rights.
func (u *Users) identify(r *http.Request) (*user, error) {
	// 1. A token has no colon, and a name with a password has one.
	name, secret, ok := named(r)
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok && u.issuer != nil && strings.EqualFold(scheme, "Bearer") {
		return u.byToken(r, strings.TrimSpace(token))
	}
	if !ok {
		return nil, unauthorized(r, "this node wants a user's name and password, by Basic or as Bearer NAME:PASSWORD, or a token")
	}
	// 2. A password.
	one, err := u.verify(r.Context(), name, secret)
	if one == nil && err == nil {
		err = unauthorized(r, "the user's name or password is wrong")
	}
	return one, err
}

// byToken returns the user of a token of OpenID Connect. It has the rights of all users whose values the token
// has, and a name of its own for the logs.
func (u *Users) byToken(r *http.Request, token string) (*user, error) {
	identity, err := u.issuer.Verify(r.Context(), token)
	var rejected *oidc.RejectedError
	switch {
	case errors.As(err, &rejected):
		return nil, unauthorized(r, rejected.Reason)
	case errors.Is(err, oidc.ErrKeys):
		return nil, &problem.Error{Kind: problem.KindUnavailable, Where: "Authorization", Message: err.Error(), RetryAfter: 1}
	case err != nil:
		return nil, err
	}
	one := &user{name: subjectPrefix + identity.Subject}
	var limited, unlimited []*user
	for _, value := range identity.Values {
		switch other := u.byValue[value]; {
		case other == nil || slices.Contains(limited, other) || slices.Contains(unlimited, other):
		case other.graphs != nil:
			limited = append(limited, other)
		default:
			unlimited = append(unlimited, other)
		}
	}
	if len(limited)+len(unlimited) == 0 {
		return one, problem.Errorf(problem.KindForbidden, "Authorization", "no user of this node has a value of the token's claim %s in oidc, so %s has no rights", u.issuer.Claim(), one.name)
	}
	return one, one.join(limited, unlimited)
}

// join gives the user the rights of others, with and without lists of graphs.
func (u *user) join(limited, unlimited []*user) error {
	for _, other := range unlimited {
		u.roles = append(u.roles, other.roles...)
	}
	// Rights to some graphs cannot be added to rights to all. They need not be if these are no fewer.
	for _, other := range limited {
		switch {
		case len(unlimited) == 0:
			u.roles = append(u.roles, other.roles...)
			if u.graphs == nil {
				u.graphs = other.graphs
			} else {
				u.graphs = u.graphs.Union(other.graphs)
			}
		case slices.ContainsFunc(other.roles, func(role Right) bool { return !u.has(role) }):
			return problem.Errorf(problem.KindForbidden, "Authorization", "the token is of the users %s and %s, and only the first one has some graphs only: it must be of one of them", other.name, unlimited[0].name)
		}
	}
	slices.Sort(u.roles)
	u.roles = slices.Compact(u.roles)
	return nil
}
