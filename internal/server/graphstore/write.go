// Changes of graphs by the Graph Store Protocol: PUT, POST and DELETE (sections 5.3 to 5.5). Each
// is one change of the store. On a lone node it is all or nothing.

package graphstore

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
	"github.com/trefoildb/trefoil/triple"
)

// putGraph replaces a graph, or all graphs, by a document. The answer is 201 if the graph is new and has triples,
// and 204 otherwise. If the document is empty, no graph is left.
func (a *API) putGraph(w http.ResponseWriter, r *request.Request) error {
	// 1. Check target and condition, and read the whole document.
	t, err := a.targetOf(r)
	if err == nil && !holdsDataset(r) {
		err = t.needGraph(r)
	}
	if err != nil {
		return err
	}
	condition, err := conditionOf(r)
	if err != nil {
		return err
	}
	account := a.Account(r)
	defer account.Release()
	triples, err := a.readGraph(r, t, account)
	if err != nil {
		return err
	}
	// 2. Clear the graph and add the triples in one change.
	changes := t.clear()
	changes.Add = slices.Values(triples)
	result, err := a.apply(r, condition, t, changes, account)
	if err != nil {
		return err
	}
	if result.Deleted == 0 && len(triples) > 0 {
		w.WriteHeader(http.StatusCreated)
	} else {
		w.WriteHeader(http.StatusNoContent)
	}
	return nil
}

// postGraph merges a document into a graph, or TriG or N-Quads into all graphs. The answer is 201 if that creates the graph, with its
// Location if the store has chosen its name. It is 200 if the graph exists, and 204 if there is
// nothing to add.
func (a *API) postGraph(w http.ResponseWriter, r *request.Request) error {
	// 1. Find the graph. If the target is the store, and the document is that of one graph, make a name
	// from the idempotency key, because a second try must get the same one.
	t, err := a.targetOf(r)
	if err != nil {
		return err
	}
	condition, err := conditionOf(r)
	if err != nil {
		return err
	}
	location := ""
	if t.store && (!holdsDataset(r) || isJSONLD(r)) {
		base, err := a.URL.Base(r.Request)
		if err != nil {
			return err
		}
		location = base + graphStorePath + "/" + request.FreshPrefix(r.Key(), 0)
		t = graphTarget{graph: triple.NewIRI(location), base: location}
	}
	// 2. Read the document.
	account := a.Account(r)
	defer account.Release()
	var triples []triple.Triple
	if r.ContentLength != 0 {
		if triples, err = a.readGraph(r, t, account); err != nil {
			return err
		}
	}
	if len(triples) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	// 3. Find out if the graph is new, and merge.
	status := http.StatusOK
	there, err := a.hasGraph(r.Context(), t)
	if err != nil {
		return err
	}
	if !there {
		status = http.StatusCreated
	}
	result, err := a.apply(r, condition, t, store.Steps{Add: slices.Values(triples)}, account)
	if location != "" && (err == nil || errors.Is(err, store.ErrDone)) {
		w.Header().Set("Location", location)
	}
	if err != nil {
		return err
	}
	return response.WriteJSONStatus(w, status, api.AddResult{Added: result.Added, Existing: int64(len(triples)) - result.Added})
}

// dropped is the answer of DELETE /data.
type dropped struct {
	Deleted int64 `json:"deleted"`
}

func (a *API) deleteGraph(w http.ResponseWriter, r *request.Request) error {
	t, err := a.targetOf(r)
	if err == nil {
		err = t.needGraph(r)
	}
	if err != nil {
		return err
	}
	condition, err := conditionOf(r)
	if err != nil {
		return err
	}
	result, err := a.apply(r, condition, t, t.clear(), nil)
	if err != nil {
		return err
	}
	if result.Deleted == 0 && !t.graph.IsZero() {
		return t.missing()
	}
	return response.WriteJSON(w, dropped{result.Deleted})
}

// clear returns a change to empty the graph.
func (t graphTarget) clear() store.Steps {
	if t.store {
		return store.Steps{ClearAll: true}
	}
	if t.graph.IsZero() {
		return store.Steps{ClearDefault: true}
	}
	return store.Steps{ClearGraphs: []triple.Term{t.graph}}
}

// keepSystem replaces the clearing of all graphs by that of all but the system graph, if that one has
// triples.
func keepSystem(ctx context.Context, sn store.Reader, changes *store.Steps) error {
	if there, err := hasGraph(ctx, sn, graphTarget{graph: systemgraph.Graph}); err != nil || !there {
		return err
	}
	changes.ClearAll, changes.ClearDefault = false, true
	// Each round finds the next name. A value bound stays within blank nodes or IRIs.
	for bounds := (triple.Bounds{Order: triple.GSPO}); ; {
		found := triple.Term{}
		for row, err := range sn.Range(ctx, bounds, store.ReadOptions{Limit: 1}) {
			if err != nil {
				return err
			}
			one, err := row.Triple()
			if err != nil {
				return err
			}
			found = one.Graph
		}
		switch {
		case !found.IsZero():
			if found != systemgraph.Graph {
				changes.ClearGraphs = append(changes.ClearGraphs, found)
			}
			bounds.GT, bounds.From = found, nil
		case bounds.GT.Kind() == triple.Blank:
			bounds = triple.Bounds{Order: triple.GSPO, From: []triple.Term{triple.NewIRI("")}}
		default:
			return nil
		}
	}
}

// hasGraph reports whether a graph exists now.
func (a *API) hasGraph(ctx context.Context, t graphTarget) (bool, error) {
	sn, err := a.Store.Reader()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	return hasGraph(ctx, graphrights.Filter(ctx, sn), t)
}

// hasGraph reports whether a graph exists. The default graph always does.
func hasGraph(ctx context.Context, sn store.Reader, t graphTarget) (bool, error) {
	if t.graph.IsZero() {
		return true, nil
	}
	for _, err := range sn.Match(ctx, t.pattern(), store.ReadOptions{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// applyWeight is the memory of a change while it is made, in multiples of its triples: the keys and
// values of each in all orders, twice.
const applyWeight = 2

// apply makes a change of a graph if the condition is met. The account pays for its triples.
func (a *API) apply(r *request.Request, c condition, t graphTarget, changes store.Steps, account *limits.Account) (store.Result, error) {
	if account != nil {
		more := applyWeight * account.Used
		if account.Used+more > a.Memory.Max {
			return store.Result{}, problem.Errorf(problem.KindTooLarge, "", "the document takes more memory than all requests may, %d bytes; %s", a.Memory.Max, limits.LoadHint)
		}
		if err := account.Grow(more); err != nil {
			return store.Result{}, err
		}
	}
	result, err := a.applyIf(r.Context(), c, t, changes)
	if errors.Is(err, store.ErrTooLarge) {
		return result, &problem.Error{Kind: problem.KindTooLarge, Message: err.Error() + "; " + limits.LoadHint, Cause: err}
	}
	a.CountWritten(r, result.Added, result.Deleted)
	if err != nil {
		err = problem.PartialError(err, result.Added+result.Deleted, 0, "changed")
	}
	return result, err
}
