// Stores of the graph: what is in memory, and what is requested and relinquished.

package links

import (
	"errors"
	"net/http"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/links"
)

// getStores answers with what each machine has in memory.
func (l *API) getStores(w http.ResponseWriter, r *request.Request) error {
	if l.has.Loader == nil {
		return errors.ErrUnsupported
	}
	servers, err := l.has.Loader.Stores(r.Context())
	if err != nil {
		return err
	}
	return response.WriteJSON(w, struct {
		Servers []links.ServerStores `json:"servers"`
	}{servers})
}

// postStores relinquishes and requests stores on all machines, and answers as getStores.
func (l *API) postStores(w http.ResponseWriter, r *request.Request) error {
	var change struct {
		Request    links.Stores `json:"request"`
		Relinquish links.Stores `json:"relinquish"`
	}
	if err := readOptions(r, &change); err != nil {
		return err
	}
	if both := change.Request & change.Relinquish; both != 0 {
		return problem.Errorf(problem.KindBadRequest, request.BodyName, "%s is requested and relinquished", both)
	}
	if l.has.Loader == nil {
		return errors.ErrUnsupported
	}
	// What is relinquished makes room for what is requested.
	if change.Relinquish != 0 {
		if err := l.has.Loader.Relinquish(r.Context(), change.Relinquish); err != nil {
			return err
		}
	}
	if change.Request != 0 {
		if err := l.has.Loader.Request(r.Context(), change.Request); err != nil {
			return err
		}
	}
	return l.getStores(w, r)
}
