// The table of doors, and which of them a path means.

package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/node/httpapi/querypage"
)

// storeDoors are the doors to the store as ordered triples, and those for operators.
func (a *API) storeDoors() map[string]*door {
	get := func(handle func(http.ResponseWriter, *request) error, params ...string) *door {
		return &door{methods: map[string]*method{http.MethodGet: {params: params, handle: handle}}}
	}
	healthz, readyz := get(a.getHealth), get(a.getReady)
	healthz.open, readyz.open = true, true
	healthz.health, readyz.health = true, true
	page := get(getPage)
	page.open = true // it holds no data, and asks for the token
	triples := get(a.getTriples, triplesParams...)
	triples.methods[http.MethodPost] = &method{params: addParams, writes: true, body: true, handle: a.postTriples}
	triples.methods[http.MethodDelete] = &method{params: deleteParams, writes: true, body: true, handle: a.deleteTriples}
	return map[string]*door{
		"/":        page,
		"/range":   get(a.getRange, rangeParams...),
		"/triples": triples,
		"/count":   get(a.getCount, countParams...),
		"/load": {methods: map[string]*method{
			http.MethodPost: {params: loadParams, writes: true, body: true, handle: a.postLoad}}},
		"/backup":  get(a.getBackup),
		"/check":   get(a.getCheck),
		"/status":  get(a.getStatus),
		"/metrics": get(a.getMetrics),
		"/healthz": healthz,
		"/readyz":  readyz,
	}
}

// Endpoint is one method of one path of an API.
type Endpoint struct {
	Method, Path string
	Open         bool // it needs no token
}

// Endpoints returns all that the API answers, sorted by path and method.
func (a *API) Endpoints() []Endpoint {
	var all []Endpoint
	for _, path := range a.paths {
		for _, method := range slices.Sorted(maps.Keys(a.doors[path].methods)) {
			all = append(all, Endpoint{method, path, a.doors[path].open})
		}
	}
	return all
}

func getPage(w http.ResponseWriter, r *request) error { return querypage.Serve(w, r.Request) }

// door returns the door that a path means, and its name: the one of that path, or
// else the nearest above it that answers for what is below.
func (a *API) door(path string) (name string, d *door) {
	if d := a.doors[path]; d != nil {
		return path, d
	}
	for above, candidate := range a.doors { // few; a path may have many slashes
		if candidate.below && len(above) > len(name) && strings.HasPrefix(path, above) && path[len(above)] == '/' {
			name, d = above, candidate
		}
	}
	return name, d
}

// allowed returns the methods that the door takes, sorted.
func (d *door) allowed() []string {
	allow := []string{http.MethodOptions}
	for name := range d.methods {
		allow = append(allow, name)
		if name == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return allow
}
