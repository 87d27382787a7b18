// Changing graphs by the Graph Store Protocol: PUT, POST and DELETE (sections
// 5.3 to 5.5), each one change of the store: on a node alone all or nothing.

package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/triple"
)

// putGraph replaces a graph by a document. What was not there and has triples
// now is 201, all else 204; a document without triples leaves no graph.
func (a *API) putGraph(w http.ResponseWriter, r *request) error {
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
	account := &account{budget: &a.memory, client: clientOf(r.Request)}
	defer account.release()
	triples, err := a.readGraph(r, t, account)
	if err != nil {
		return err
	}
	changes := t.clear()
	changes.Add = slices.Values(triples)
	result, err := a.apply(r.Context(), condition, t, changes, account)
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

// postGraph merges a document into a graph: 201 where that makes it, with its
// Location where the store has chosen its name, else 200; 204 where there is
// nothing to add.
func (a *API) postGraph(w http.ResponseWriter, r *request) error {
	t, err := a.targetOf(r)
	if err != nil {
		return err
	}
	condition, err := conditionOf(r)
	if err != nil {
		return err
	}
	location := ""
	if t.store {
		base, err := a.baseURL(r.Request)
		if err != nil {
			return err
		}
		location = base + graphStorePath + "/" + freshPrefix(r.Header.Get(keyHeader), 0)
		t = graphTarget{graph: triple.NewIRI(location), base: location}
	}
	account := &account{budget: &a.memory, client: clientOf(r.Request)}
	defer account.release()
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
	status := http.StatusOK
	there, err := a.hasGraph(r.Context(), t)
	if err != nil {
		return err
	}
	if !there {
		status = http.StatusCreated
	}
	result, err := a.apply(r.Context(), condition, t, node.Changes{Add: slices.Values(triples)}, account)
	if location != "" && (err == nil || errors.Is(err, node.ErrDone)) {
		w.Header().Set("Location", location)
	}
	if err != nil {
		return err
	}
	return writeJSONStatus(w, status, added{Added: result.Added, Existing: int64(len(triples)) - result.Added})
}

// dropped is the answer of DELETE /data.
type dropped struct {
	Deleted int64 `json:"deleted"`
}

func (a *API) deleteGraph(w http.ResponseWriter, r *request) error {
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
	result, err := a.apply(r.Context(), condition, t, t.clear(), nil)
	if err != nil {
		return err
	}
	if result.Deleted == 0 && !t.graph.IsZero() {
		return t.missing()
	}
	return writeJSON(w, dropped{result.Deleted})
}

// clear returns the change that empties the graph.
func (t graphTarget) clear() node.Changes {
	if t.graph.IsZero() {
		return node.Changes{ClearDefault: true}
	}
	return node.Changes{ClearGraphs: []triple.Term{t.graph}}
}

// hasGraph reports whether a graph is there now.
func (a *API) hasGraph(ctx context.Context, t graphTarget) (bool, error) {
	sn, err := a.store.Snapshot()
	if err != nil {
		return false, err
	}
	defer sn.Close()
	return hasGraph(ctx, sn, t)
}

// hasGraph reports whether a graph is there: the default graph always.
func hasGraph(ctx context.Context, sn Snapshot, t graphTarget) (bool, error) {
	if t.graph.IsZero() {
		return true, nil
	}
	for _, err := range sn.Match(ctx, t.pattern(), node.ReadOptions{Limit: 1}) {
		return err == nil, err
	}
	return false, nil
}

// applyWeight is how much memory a change takes while it is made, as a multiple
// of what its triples take: the keys and values of each in all orders, twice.
const applyWeight = 2

// apply makes a change of a graph if the condition is met; the account pays for its
// triples.
func (a *API) apply(ctx context.Context, c condition, t graphTarget, changes node.Changes, account *account) (node.ApplyResult, error) {
	if account != nil {
		more := applyWeight * account.used
		if account.used+more > a.memory.max {
			return node.ApplyResult{}, errorf(KindTooLarge, "", "the document takes more memory than all requests may, %d bytes; %s", a.memory.max, whatTakesMore)
		}
		if err := account.grow(more); err != nil {
			return node.ApplyResult{}, err
		}
	}
	result, err := a.applyIf(ctx, c, t, changes)
	if errors.Is(err, node.ErrTooLarge) {
		return result, &Error{Kind: KindTooLarge, Message: err.Error() + "; " + whatTakesMore, cause: err}
	}
	a.metrics.rowsWritten.WithLabelValues("added").Add(float64(result.Added))
	a.metrics.rowsWritten.WithLabelValues("deleted").Add(float64(result.Deleted))
	if err != nil {
		err = partly(err, result.Added+result.Deleted, 0, "changed")
	}
	return result, err
}

func writeJSONStatus(w http.ResponseWriter, status int, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", typeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, err = w.Write(body)
	return err
}
