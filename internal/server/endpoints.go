// The table of endpoints, and the lookup of a path.

package server

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// Endpoint is one method of one path of an API.
type Endpoint struct {
	Method, Path string
	Open         bool // it needs no token
}

// Endpoints returns all methods of all paths, sorted by path and method.
func (a *API) Endpoints() []Endpoint {
	var all []Endpoint
	for _, path := range a.paths {
		for _, method := range slices.Sorted(maps.Keys(a.endpoints[path].Methods)) {
			all = append(all, Endpoint{method, path, rules[method+" "+path] == open})
		}
	}
	return all
}

// wantsPage reports whether a browser navigates to an endpoint of data. A request with a format wants
// the data, unless it is the format of a page: addresses of Virtuoso have it.
func wantsPage(r *http.Request) bool {
	isPage := func(format string) bool { return format == "" || format == "auto" || format == "text/html" }
	return response.PrefersHTML(r.Header.Values("Accept")) && !slices.ContainsFunc(r.URL.Query()["format"], func(f string) bool { return !isPage(f) })
}

// showPage leads a browser to the page, with a query if there is one.
func (a *API) showPage(w http.ResponseWriter, r *http.Request, query string) error {
	base, err := a.shared.URL.Base(r)
	if err != nil {
		return err
	}
	target := base + "/"
	if query != "" {
		target += "#" + url.Values{"query": {query}}.Encode()
	}
	w.Header().Add("Vary", "Accept")
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// withoutSlash returns the request without the slash at the end of an endpoint's path, because clients
// add one when they join paths.
func (a *API) withoutSlash(r *http.Request) *http.Request {
	path, ok := strings.CutSuffix(r.URL.Path, "/")
	if !ok || a.endpoints[path] == nil {
		return r
	}
	same, target := *r, *r.URL
	target.Path, target.RawPath = path, ""
	same.URL = &target
	return &same
}

// endpointOf returns the entry of a path and the path of that entry. If the path has no entry, it
// is the nearest one above with Below; if there is none, d is nil.
func (a *API) endpointOf(path string) (name string, d *endpoint.Path) {
	if d := a.endpoints[path]; d != nil {
		return path, d
	}
	for above, candidate := range a.endpoints { // few; a path may have many slashes
		if candidate.Below && len(above) > len(name) && strings.HasPrefix(path, above) && path[len(above)] == '/' {
			name, d = above, candidate
		}
	}
	return name, d
}
