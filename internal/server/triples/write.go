// POST and DELETE /triples.

package triples

import (
	"net/http"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
)

var (
	addParams    = []string{"graph", "base", "blank"}
	deleteParams = []string{"s", "p", "o", "g", "graph", "base"}
)

// added is the answer of POST /triples.
type added struct {
	api.AddResult
	// Annotations is the number of annotations set.
	Annotations int64 `json:"annotations,omitempty"`
}

func annotationsOf(annotated []store.Annotated) (n int64) {
	for i := range annotated {
		n += int64(len(annotated[i].Annotations))
	}
	return n
}

// annotating returns an error that reports: the triples of a document are added, but not all of its
// annotations.
func annotating(err error, n int64) error {
	e := *problem.As(err)
	e.Done, e.Begun = n, true
	if e.Kind == problem.KindBusy {
		e.Kind = problem.KindUnavailable // because clients take "busy" for nothing done
	}
	e.Message += " (all triples of the document are there, and some of its annotations; send it again, with a new Idempotency-Key if it had one)"
	return &e
}

func (a *API) postTriples(w http.ResponseWriter, r *request.Request) error {
	// 1. Read the document whole, because it must be added as a whole or not at all.
	keepLabels := false
	switch blank := r.Params["blank"]; blank {
	case "keep":
		keepLabels = true
	case "", "fresh":
	default:
		return problem.Errorf(problem.KindBadParameter, "blank", "%q is neither keep nor fresh", problem.Clip(blank))
	}
	account := a.Account(r)
	defer account.Release()
	annotated := []store.Annotated{}
	triples, err := a.Documents.Read(r, account, keepLabels, &annotated)
	if err != nil {
		return err
	}
	for i := range annotated {
		for _, annotation := range annotated[i].Annotations {
			if err := r.Caller.CheckWrite(annotation.ApplicationID); err != nil {
				return err
			}
		}
	}
	// 2. Add the triples, then set the annotations. A claim must come first if there are
	// annotations.
	if len(annotated) > 0 { // because a second try would undo later changes of the annotations
		if err := store.Claim(r.Context(), a.Store); err != nil {
			return err
		}
		r.Request = r.WithContext(store.WithRequestKey(r.Context(), "", true))
	}
	result, err := store.Add(r.Context(), a.Store, triples)
	a.CountWritten(r, result.Added, 0)
	if err != nil {
		return problem.PartialError(err, result.Added, result.Existing, "added")
	}
	if err := store.AnnotateAll(r.Context(), a.Store, annotated); err != nil {
		return annotating(err, result.Added)
	}
	return response.WriteJSON(w, added{api.AddResult{Added: result.Added, Existing: result.Existing}, annotationsOf(annotated)})
}

func (a *API) deleteTriples(w http.ResponseWriter, r *request.Request) error {
	// 1. Decide between a pattern and a document. Exactly one must be given.
	byPattern := false
	for _, name := range request.PatternParams {
		byPattern = byPattern || r.Params.Has(name)
	}
	byDocument := r.ContentLength != 0 || r.Header.Get("Content-Type") != ""
	switch {
	case byPattern && r.ContentLength != 0:
		return problem.Errorf(problem.KindBadRequest, "", "both a pattern (s, p, o, g) and a document; give one")
	case byPattern && (r.Params.Has("graph") || r.Params.Has("base")):
		return problem.Errorf(problem.KindBadRequest, "", "graph and base go with a document; a pattern's graph is g")
	case byPattern:
		return a.deletePattern(w, r)
	case !byDocument:
		return problem.Errorf(problem.KindBadRequest, "", "say what to delete: a document, or at least one of s, p, o and g")
	}
	// 2. Delete the triples of the document. Labels of blank nodes are kept, because they name
	// stored nodes.
	account := a.Account(r)
	defer account.Release()
	annotated := []store.Annotated{} // deleted with their triples
	triples, err := a.Documents.Read(r, account, true, &annotated)
	if err != nil {
		return err
	}
	result, err := store.Delete(r.Context(), a.Store, triples)
	return a.answerDeleted(w, r, api.DeleteResult{Deleted: result.Deleted, Missing: result.Missing}, err)
}

func (a *API) deletePattern(w http.ResponseWriter, r *request.Request) error {
	pattern, err := r.Params.Pattern()
	if err != nil {
		return err
	}
	result, err := store.DeleteMatch(r.Context(), a.Store, pattern)
	return a.answerDeleted(w, r, api.DeleteResult{Deleted: result.Deleted, Missing: result.Missing}, err)
}

func (a *API) answerDeleted(w http.ResponseWriter, r *request.Request, result api.DeleteResult, err error) error {
	a.CountWritten(r, 0, result.Deleted)
	if err != nil {
		return problem.PartialError(err, result.Deleted, result.Missing, "deleted")
	}
	return response.WriteJSON(w, result)
}
