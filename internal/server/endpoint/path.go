// Paths and their methods.

package endpoint

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/request"
)

// Table holds endpoints by path.
type Table = map[string]*Path

// MethodQuery is a safe method with a body (RFC 10008). net/http has no name for it.
const MethodQuery = "QUERY"

// Handler answers a request. It must return an error only if nothing was sent, or if the answer
// must be broken off.
type Handler = func(w http.ResponseWriter, r *request.Request) error

// Path is one path. What it needs is in the table of rights of package server.
type Path struct {
	Health  bool // answers on crowded connections too
	Below   bool // answers the paths below its own too
	Methods map[string]*Method
}

// Method is the handler of one HTTP method, and what it accepts. GET answers HEAD too.
type Method struct {
	Params []string // all accepted ones; /openapi.json lists them
	// OwnParams leaves the URL's query to the handler. The Params of the request are then empty.
	OwnParams bool
	Writes    bool // changes data; if only some requests do, the handler calls Changes.Check
	Body      bool // takes a body
	// Queries are the media types of bodies of [MethodQuery], without parameters. Answers of the path name them.
	Queries []string
	Handle  Handler
	// Shown, if set, leads browsers to the page at the root. It returns the query for the page; "" is
	// none.
	Shown func(params url.Values) string
}

// Allowed returns the methods of the path, sorted.
func (d *Path) Allowed() []string {
	allow := []string{http.MethodOptions}
	for name := range d.Methods {
		allow = append(allow, name)
		if name == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return allow
}

// AcceptQuery returns the value of the header Accept-Query, a list of structured fields (RFC 10008,
// section 3); "" if the path does not take QUERY. A media type is a token there.
func (d *Path) AcceptQuery() string {
	if m := d.Methods[MethodQuery]; m != nil {
		return strings.Join(m.Queries, ", ")
	}
	return ""
}

// Get returns a path that answers GET and HEAD.
func Get(handle Handler, params ...string) *Path {
	return &Path{Methods: map[string]*Method{http.MethodGet: {Params: params, Handle: handle}}}
}
