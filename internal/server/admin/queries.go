// The running queries: /queries and /queries/ID.

package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/queries"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// QueriesPath is the path of the running queries. Below it are their IDs.
const QueriesPath = "/queries"

// queriesPath is for operators, because the texts of queries are data of their users. A DELETE changes
// no data, so a read-only node and a full disk take it, too.
func (a *API) queriesPath() *endpoint.Path {
	return &endpoint.Path{Below: true, Methods: map[string]*endpoint.Method{
		http.MethodGet: {Handle: a.getQueries}, http.MethodDelete: {Handle: a.deleteQuery}}}
}

// queryList is the answer of /queries.
type queryList struct {
	Running []queries.Info `json:"running"` // the oldest first
	Slow    []queries.Slow `json:"slow"`    // the latest first
}

func (a *API) getQueries(w http.ResponseWriter, r *request.Request) error {
	if r.URL.Path != QueriesPath {
		return problem.Errorf(problem.KindNotFound, problem.Clip(r.URL.Path), "GET %s lists the queries; a single one takes DELETE only", QueriesPath)
	}
	return response.WriteJSON(w, queryList{a.Queries.Running(), a.Queries.Slow()})
}

// deleteQuery stops a query and answers with its last figures.
func (a *API) deleteQuery(w http.ResponseWriter, r *request.Request) error {
	if err := a.Changes.CheckOrigin(r.Request); err != nil {
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, QueriesPath), "/")
	id, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return problem.Errorf(problem.KindBadRequest, "", "%q is no ID of a query; DELETE %s/ID stops one that GET %s lists", problem.Clip(name), QueriesPath, QueriesPath)
	}
	info, ok := a.Queries.Stop(id)
	if !ok {
		return problem.Errorf(problem.KindNotFound, name, "no query with this ID runs on this node; GET %s lists those that do", QueriesPath)
	}
	return response.WriteJSON(w, info)
}
