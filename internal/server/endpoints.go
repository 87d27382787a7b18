// The table of endpoints, and the lookup of a path.

package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/querypage"
	"github.com/trefoildb/trefoil/internal/server/request"
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
			all = append(all, Endpoint{method, path, a.endpoints[path].Open})
		}
	}
	return all
}

func getPage(w http.ResponseWriter, r *request.Request) error { return querypage.Serve(w, r.Request) }

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
