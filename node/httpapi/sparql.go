// The door /sparql: the SPARQL 1.1 Protocol.

package httpapi

import "net/http"

// sparqlDoors are the doors that need the engine.
func (a *API) sparqlDoors() map[string]*door {
	return map[string]*door{
		"/sparql": {methods: map[string]*method{
			http.MethodGet: {ownParams: true, handle: a.getSPARQL},
		}},
	}
}

func (a *API) getSPARQL(w http.ResponseWriter, r *request) error {
	return errorf(KindInternal, "", "not yet")
}
