// The map of segments and partitions: /segments.

package admin

import (
	"net/http"

	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

const (
	defaultSegments = 1000
	maxSegments     = 10_000
)

// getSegments answers the owners of the partitions and of a page of the segments.
func (a *API) getSegments(w http.ResponseWriter, r *request.Request) error {
	offset, err := r.Params.Number("offset", 0)
	if err != nil {
		return err
	}
	limit, err := r.Params.Number("limit", 1)
	switch {
	case err != nil:
		return err
	case limit == 0:
		limit = defaultSegments
	case limit > maxSegments:
		return problem.Errorf(problem.KindBadParameter, "limit", "%d segments; a page has at most %d: read the rest with offset", limit, maxSegments)
	}
	m, err := a.Store.SegmentMap(r.Context(), offset, limit)
	if err != nil {
		return err
	}
	return response.WriteJSON(w, m)
}
