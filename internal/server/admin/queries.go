// The running queries of all members: /queries and /queries/ID.

package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/queries"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/trie"
)

// QueriesPath is the path of the running queries. Below it are their IDs.
const QueriesPath = "/queries"

// maxSlow is the number of slow queries in the list of a cluster. Each member keeps as many.
const maxSlow = 100

// queriesPath is for operators, because the texts of queries are data of their users. A DELETE changes
// no data, so a read-only node and a full disk take it, too.
func (a *API) queriesPath() *endpoint.Path {
	return &endpoint.Path{Below: true, Methods: map[string]*endpoint.Method{
		http.MethodGet: {Handle: a.getQueries}, http.MethodDelete: {Params: machineParams, Handle: a.deleteQuery}}}
}

// runningQuery is a query with the machine at which it runs.
type runningQuery struct {
	queries.Info
	machine
}

// slowQuery is a slow query with the machine at which it ran.
type slowQuery struct {
	queries.Slow
	machine
}

// queryList is the answer of /queries.
type queryList struct {
	Running []runningQuery `json:"running"` // the oldest first
	Slow    []slowQuery    `json:"slow"`    // the latest first
	Absent  []absent       `json:"absent,omitempty"`
}

// localQueries returns the queries of this machine, without its name.
func (a *API) localQueries() (all queryList) {
	for _, q := range a.Queries.Running() {
		all.Running = append(all.Running, runningQuery{Info: q})
	}
	for _, q := range a.Queries.Slow() {
		all.Slow = append(all.Slow, slowQuery{Slow: q})
	}
	return all
}

// getQueries answers the queries of all members. A member without an answer is listed as absent.
func (a *API) getQueries(w http.ResponseWriter, r *request.Request) error {
	if r.URL.Path != QueriesPath {
		return problem.Errorf(problem.KindNotFound, problem.Clip(r.URL.Path), "GET %s lists the queries; a single one takes DELETE only", QueriesPath)
	}
	// 1. Collect the parts. The lists must not be null in JSON.
	all := queryList{Running: []runningQuery{}, Slow: []slowQuery{}}
	add := func(from machine, part queryList) {
		for _, q := range part.Running {
			q.machine = from
			all.Running = append(all.Running, q)
		}
		for _, q := range part.Slow {
			q.machine = from
			all.Slow = append(all.Slow, q)
		}
	}
	add(a.self(), a.localQueries())
	all.Absent = eachPeer(r.Context(), a, methodQueries, add)
	// 2. Sort them by time. The sort is stable, because one machine's order is exact.
	slices.SortStableFunc(all.Running, func(x, y runningQuery) int { return x.Start.Compare(y.Start) })
	slices.SortStableFunc(all.Slow, func(x, y slowQuery) int { return y.End().Compare(x.End()) })
	all.Slow = all.Slow[:min(len(all.Slow), maxSlow)]
	return response.WriteJSON(w, all)
}

// deleteQuery stops a query of this machine, or of the one that the request names, and answers with its last figures.
func (a *API) deleteQuery(w http.ResponseWriter, r *request.Request) error {
	// 1. Check the request.
	if err := a.Changes.CheckOrigin(r.Request); err != nil {
		return err
	}
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, QueriesPath), "/")
	id, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return problem.Errorf(problem.KindBadRequest, "", "%q is no ID of a query; DELETE %s/ID stops one that GET %s lists", problem.Clip(name), QueriesPath, QueriesPath)
	}
	var at trie.MachineID
	if _, ok := r.Params["machine"]; ok {
		if at, err = machineOf(r.Params, a.Store.Status()); err != nil {
			return err
		}
	}
	// 2. Stop it, here or at another member.
	if at != 0 && a.cluster != nil && at != a.cluster.MachineID() {
		return a.stopAt(w, r, at, id)
	}
	info, ok := a.Queries.Stop(id)
	if !ok {
		return errNoQuery(name)
	}
	return response.WriteJSON(w, runningQuery{info, a.self()})
}

func errNoQuery(id string) error {
	return problem.Errorf(problem.KindNotFound, id, "no query with this ID runs on this node; GET %s lists those that do", QueriesPath)
}

// stopped is the answer of a member to methodStopQuery.
type stopped struct {
	Query *queries.Info `json:"query"` // nil if none with this ID runs
}

// stopAt stops a query of another member.
func (a *API) stopAt(w http.ResponseWriter, r *request.Request, at trie.MachineID, id uint64) error {
	answer, err := a.cluster.CallMember(r.Context(), at, methodStopQuery, strconv.AppendUint(nil, id, 10))
	if err != nil {
		return err
	}
	var s stopped
	if err := json.Unmarshal(answer, &s); err != nil {
		return err
	}
	if s.Query == nil {
		return errNoQuery(strconv.FormatUint(id, 10))
	}
	return response.WriteJSON(w, runningQuery{*s.Query, machine{Machine: at.String()}})
}

// answerStop stops a query of this machine for another member, which has checked the rights of its client.
func (a *API) answerStop(_ context.Context, body []byte) ([]byte, error) {
	id, err := strconv.ParseUint(string(body), 10, 64)
	if err != nil {
		return nil, err
	}
	var s stopped
	if info, ok := a.Queries.Stop(id); ok {
		s.Query = &info
	}
	return json.Marshal(s)
}
