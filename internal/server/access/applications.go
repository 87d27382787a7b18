// Identities of applications: whose annotations a request may read and write.

package access

import (
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// Application is an application with a token. Its annotations are its own: only requests with its
// token write them, and only these, operators and its readers read them.
type Application struct {
	ID    string // of its annotations
	Token string
	// Readers are the IDs of applications that may read its annotations. "*" is every token.
	Readers []string
}

// everyone among the readers of an application grants reading to every token.
const everyone = "*"

// application is an Application with the hash of its token.
type application struct {
	id      string
	sum     tokenSum
	readers []string
}

// CheckApplications returns an error if applications are not distinct, or if a token is empty or is
// also the token of clients or operators.
func CheckApplications(applications []Application, client, operator string) error {
	if len(applications) > 0 && client == "" {
		return fmt.Errorf("http: applications have tokens, but clients have none: everybody could read all annotations. Set the clients' token, too")
	}
	for i, a := range applications {
		switch {
		case len(a.ID) == 0 || len(a.ID) > triple.MaxApplicationID:
			return fmt.Errorf("http: application %d: its ID has %d bytes, not 1 to %d", i+1, len(a.ID), triple.MaxApplicationID)
		case systemgraph.Reserved(a.ID), a.ID == systemgraph.Operators:
			return fmt.Errorf("http: application %q has an ID that only the node itself uses: take another one", a.ID)
		case a.Token == "":
			return fmt.Errorf("http: application %q has no token", a.ID)
		case a.Token == client, a.Token == operator:
			return fmt.Errorf("http: application %q has the token of clients or operators: make another one", a.ID)
		}
		if slices.ContainsFunc(applications[:i], func(b Application) bool { return b.ID == a.ID || b.Token == a.Token }) {
			return fmt.Errorf("http: application %q has the ID or the token of another one", a.ID)
		}
	}
	return nil
}

// Caller is the identity of a request. It decides which annotations the request may read and write:
//
//   - Without tokens of applications, and with the operators' token: all. If there is no operators'
//     token, the clients' token is that of operators.
//   - With the token of an application: it writes its own, and reads its own and granted ones.
//   - With the clients' token: those of IDs without a token, and it reads those granted to all.
//   - With a user's password, or a token of OpenID Connect: as with the operators' token if it has the role admin, else as with the clients'.
//
// The zero Caller may do nothing.
type Caller struct {
	all          bool
	operator     bool // may change what the node remembers for its operators
	proven       bool // operator, and shown by a token
	application  *application
	applications []application
	kind         string // see Identity
	user         *user  // nil if it is none
}

// Kinds of callers.
const (
	Anonymous    = "anonymous"   // without a token, because none is needed
	Client       = "client"      // with the clients' token
	Operator     = "operator"    // with the operators' token
	Applications = "application" // with the token of an application
	UserKind     = "user"        // with the name and password of a user, or with a token of OpenID Connect
)

// Identity returns the kind of the caller and, if that is an application or a user, its ID or name.
func (c Caller) Identity() (kind, name string) {
	switch {
	case c.application != nil:
		return Applications, c.application.id
	case c.user != nil:
		return UserKind, c.user.name
	}
	return c.kind, ""
}

// String returns the name of the caller in logs: its kind, and application:ID or user:NAME.
func (c Caller) String() string {
	kind, name := c.Identity()
	if name != "" {
		return kind + ":" + name
	}
	return kind
}

// MayOperate reports whether the caller may do what is for operators only, as all may if operators have
// no token.
func (c Caller) MayOperate() bool { return c.operator }

// Caller returns the identity of a request by its token.
func (t Tokens) Caller(r *http.Request) Caller {
	// 1. What the token is.
	sum, ok := given(r)
	if t.users != nil && !(ok && (containsSum(t.clients, sum) || containsSum(t.operators, sum))) {
		return Caller{kind: Anonymous} // of an open endpoint
	}
	proven := ok && containsSum(t.operators, sum)
	operator := len(t.operators) == 0 || proven
	kind := Anonymous
	switch {
	case proven:
		kind = Operator
	case len(t.clients) > 0:
		kind = Client
	}
	if len(t.applications) == 0 {
		return Caller{all: true, operator: operator, proven: proven, kind: kind}
	}
	// 2. Which application it is of.
	c := Caller{operator: operator, proven: proven, applications: t.applications, kind: kind}
	if !ok {
		return c
	}
	for i := range t.applications {
		if subtle.ConstantTimeCompare(sum[:], t.applications[i].sum[:]) == 1 {
			c.application = &t.applications[i]
		}
	}
	c.all = c.application == nil && containsSum(t.operators, sum)
	return c
}

// IsOperator reports whether the caller has sent the operators' token. Without tokens no caller has.
func (c Caller) IsOperator() bool { return c.proven }

// All reports whether the caller may read and write all annotations.
func (c Caller) All() bool { return c.all && c.operator }

// AllApplications reports whether the caller may read and write the annotations of all applications,
// but perhaps not those that are for operators only.
func (c Caller) AllApplications() bool { return c.all }

// Owner returns the owner of what the request stores: the application whose token it has, or
// operators. It is "" for the clients' token, and for all if no application has a token.
func (c Caller) Owner() string {
	switch {
	case c.application != nil:
		return c.application.id
	case c.all && len(c.applications) > 0:
		return systemgraph.Operators
	}
	return ""
}

// owner returns the application with an ID, or nil if it has no token.
func (c Caller) owner(id string) *application {
	if i := slices.IndexFunc(c.applications, func(a application) bool { return a.id == id }); i >= 0 {
		return &c.applications[i]
	}
	return nil
}

// MayRead reports whether the caller may read the annotations of an application.
func (c Caller) MayRead(id string) bool {
	owner := c.owner(id)
	switch {
	case systemgraph.Reserved(id):
		return c.operator
	case c.all:
		return true
	case owner == nil:
		return c.application == nil && c.applications != nil
	case c.application == owner || slices.Contains(owner.readers, everyone):
		return true
	}
	return c.application != nil && slices.Contains(owner.readers, c.application.id)
}

// MayWrite reports whether the caller may set and remove the annotations of an application.
func (c Caller) MayWrite(id string) bool {
	if systemgraph.Reserved(id) {
		return c.operator
	}
	if c.all || c.application != nil {
		return c.all || c.application.id == id
	}
	return c.applications != nil && c.owner(id) == nil
}

// OwnerMayRead reports whether the owner of a stored thing, as [Caller.Owner] returned it, may read the
// annotations of an application that are not reserved for operators. It may read nothing if it is an
// application whose token is gone.
func (t Tokens) OwnerMayRead(owner, id string) bool {
	c := Caller{applications: t.applications}
	switch {
	case len(t.applications) == 0, owner == systemgraph.Operators, owner == "" && t.clientsOperate:
		return true
	case owner != "":
		if c.application = c.owner(owner); c.application == nil {
			return false
		}
	}
	return c.MayRead(id)
}

// Readable returns those of some annotations that the caller may read. It may change the slice.
func (c Caller) Readable(all []triple.ApplicationData) []triple.ApplicationData {
	if c.All() {
		return all
	}
	return slices.DeleteFunc(all, func(a triple.ApplicationData) bool { return !c.MayRead(a.ApplicationID) })
}

// CheckWrite returns an error if the caller may not set and remove annotations of an application.
func (c Caller) CheckWrite(id string) error {
	if c.MayWrite(id) {
		return nil
	}
	return problem.Errorf(problem.KindForbidden, "app", "the annotations of %q are written with the token of that application, or of operators", problem.Clip(id))
}

// CheckRead returns an error if the caller may not read annotations of an application.
func (c Caller) CheckRead(id string) error {
	if c.MayRead(id) {
		return nil
	}
	return problem.Errorf(problem.KindForbidden, "app", "the annotations of %q are read with the token of that application, of one that it has named as reader, or of operators", problem.Clip(id))
}
