// The running queries of all members: /queries and /queries/ID.

package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

// QueriesPath is the path of the running queries. Below it are their IDs.
const QueriesPath = "/queries"

// maxSlow is the number of slow queries in the list of a cluster. Each member keeps as many.
const maxSlow = 100

// queriesPath is for operators, because the texts of queries are data of their users. A DELETE changes
// no data, so a read-only node and a full disk take it, too.
func (a *API) queriesPath() *endpoint.Path {
	return &endpoint.Path{Below: true, Methods: map[string]*endpoint.Method{
		http.MethodGet: {Handle: a.getQueries}, http.MethodDelete: {Handle: a.deleteQuery}}}
}

// localQueries returns the queries of this machine, without its name.
func (a *API) localQueries() api.QueryList {
	return api.QueryList{Running: a.Queries.Running(), Slow: a.Queries.Slow()}
}

// getQueries answers the queries of all members. A member without an answer is listed as absent.
func (a *API) getQueries(w http.ResponseWriter, r *request.Request) (err error) {
	if r.URL.Path != QueriesPath {
		return problem.Errorf(problem.KindNotFound, problem.Clip(r.URL.Path), "GET %s lists the queries; a single one takes DELETE only", QueriesPath)
	}
	// 1. Collect the parts. The lists must not be null in JSON.
	all := api.QueryList{Running: []api.RunningQuery{}, Slow: []api.SlowQuery{}}
	add := func(from api.MemberName, part api.QueryList) {
		for _, q := range part.Running {
			q.MemberName = from
			all.Running = append(all.Running, q)
		}
		for _, q := range part.Slow {
			q.MemberName = from
			all.Slow = append(all.Slow, q)
		}
	}
	add(a.selfMachine(), a.localQueries())
	if all.Absent, err = eachPeer(r.Context(), a, methodQueries, nil, add); err != nil {
		return err
	}
	// 2. Sort them by time. The sort is stable, because one machine's order is exact.
	slices.SortStableFunc(all.Running, func(x, y api.RunningQuery) int { return x.Start.Compare(y.Start) })
	slices.SortStableFunc(all.Slow, func(x, y api.SlowQuery) int { return endOf(y).Compare(endOf(x)) })
	all.Slow = all.Slow[:min(len(all.Slow), maxSlow)]
	return response.WriteJSON(w, all)
}

// endOf returns when a slow query ended.
func endOf(q api.SlowQuery) time.Time {
	return q.Start.Add(time.Duration(q.Milliseconds) * time.Millisecond)
}

// stopped is the answer of a member to methodStopQuery. The message is the ID.
type stopped struct {
	Query *api.QueryInfo `json:"query"` // nil if none with this ID runs
}

// deleteQuery stops a query of any member, and answers with its last figures.
func (a *API) deleteQuery(w http.ResponseWriter, r *request.Request) error {
	if err := a.Changes.CheckOrigin(r.Request); err != nil {
		return err
	}
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, QueriesPath), "/")
	if id == "" {
		return problem.Errorf(problem.KindBadRequest, "", "the ID of the query is missing: DELETE %s/ID stops one that GET %s lists", QueriesPath, QueriesPath)
	}
	// 1. Stop it here, or else where it runs.
	if info, ok := a.Queries.Stop(id); ok {
		return response.WriteJSON(w, api.RunningQuery{QueryInfo: info, MemberName: a.selfMachine()})
	}
	var found *api.RunningQuery
	missing, err := eachPeer(r.Context(), a, methodStopQuery, []byte(id), func(at api.MemberName, s stopped) {
		if s.Query != nil {
			found = &api.RunningQuery{QueryInfo: *s.Query, MemberName: at}
		}
	})
	switch {
	case err != nil:
		return err
	case found != nil:
		return response.WriteJSON(w, found)
	}
	// 2. It may run at a member that did not answer.
	if len(missing) == 0 {
		return problem.Errorf(problem.KindNotFound, problem.Clip(id), "no query with this ID runs; GET %s lists those that do", QueriesPath)
	}
	var names []string
	for _, m := range missing {
		names = append(names, fmt.Sprintf("%s (%s)", m.Node, m.Error))
	}
	return &problem.Error{Kind: problem.KindUnavailable, Where: problem.Clip(id), RetryAfter: 1,
		Message: "no query with this ID runs at the members that answered; it may run at " + strings.Join(names, ", ")}
}

// answerStop stops a query of this machine for another member, which has checked the rights of its client.
func (a *API) answerStop(_ context.Context, id []byte) ([]byte, error) {
	var s stopped
	if info, ok := a.Queries.Stop(string(id)); ok {
		s.Query = &info
	}
	return json.Marshal(s)
}
