// The writing doors: POST and DELETE /triples.

package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/trefoildb/trefoil/node"
)

var (
	addParams    = []string{"graph", "base", "blank"}
	deleteParams = []string{"s", "p", "o", "g", "graph", "base"}
)

// added is the answer of POST /triples.
type added struct {
	Added    int64 `json:"added"`
	Existing int64 `json:"existing"`
	// Annotations is how many were set.
	Annotations int64 `json:"annotations,omitempty"`
}

func annotationsOf(notes []node.Annotated) (n int64) {
	for i := range notes {
		n += int64(len(notes[i].Annotations))
	}
	return n
}

// annotating says that the triples of a document are added, and not all of its
// annotations.
func annotating(err error, n int64) error {
	e := *asError(err)
	e.Done, e.Begun = n, true
	if e.Kind == KindBusy {
		e.Kind = KindUnavailable // by busy clients know that nothing was done
	}
	e.Message += " (all triples of the document are there, and some of its annotations; send it again)"
	return &e
}

func (a *API) postTriples(w http.ResponseWriter, r *request) error {
	keepLabels := false
	switch blank := r.params["blank"]; blank {
	case "keep":
		keepLabels = true
	case "", "fresh":
	default:
		return errorf(KindBadParameter, "blank", "%q is neither keep nor fresh", clip(blank))
	}
	account := &account{budget: &a.memory, client: clientOf(r.Request)}
	defer account.release()
	notes := []node.Annotated{}
	triples, err := a.readDocument(r, account, keepLabels, &notes)
	if err != nil {
		return err
	}
	if len(notes) > 0 { // a second try would take back what was noted since
		if err := a.store.Claim(r.Context()); err != nil {
			return err
		}
		r.Request = r.WithContext(node.WithRequestKey(r.Context(), "", true))
	}
	result, err := a.store.Add(r.Context(), triples)
	a.metrics.rowsWritten.WithLabelValues("added").Add(float64(result.Added))
	if err != nil {
		return partly(err, result.Added, result.Existing, "added")
	}
	if err := node.AnnotateAll(r.Context(), notes, a.store.Annotate); err != nil {
		return annotating(err, result.Added)
	}
	return writeJSON(w, added{result.Added, result.Existing, annotationsOf(notes)})
}

// deleted is the answer of DELETE /triples.
type deleted struct {
	Deleted int64 `json:"deleted"`
	Missing int64 `json:"missing"`
}

func (a *API) deleteTriples(w http.ResponseWriter, r *request) error {
	byPattern := false
	for _, name := range patternParams {
		byPattern = byPattern || r.params.has(name)
	}
	byDocument := r.ContentLength != 0 || r.Header.Get("Content-Type") != ""
	switch {
	case byPattern && r.ContentLength != 0:
		return errorf(KindBadRequest, "", "both a pattern (s, p, o, g) and a document; give one")
	case byPattern && (r.params.has("graph") || r.params.has("base")):
		return errorf(KindBadRequest, "", "graph and base go with a document; a pattern's graph is g")
	case byPattern:
		return a.deletePattern(w, r)
	case !byDocument:
		return errorf(KindBadRequest, "", "say what to delete: a document, or at least one of s, p, o and g")
	}
	account := &account{budget: &a.memory, client: clientOf(r.Request)}
	defer account.release()
	notes := []node.Annotated{} // go with their triples
	triples, err := a.readDocument(r, account, true, &notes)
	if err != nil {
		return err
	}
	result, err := a.store.Delete(r.Context(), triples)
	return a.answerDeleted(w, deleted{result.Deleted, result.Missing}, err)
}

func (a *API) deletePattern(w http.ResponseWriter, r *request) error {
	pattern, err := patternOf(r.params)
	if err != nil {
		return err
	}
	result, err := a.store.DeleteMatch(r.Context(), pattern)
	return a.answerDeleted(w, deleted{result.Deleted, result.Missing}, err)
}

func (a *API) answerDeleted(w http.ResponseWriter, result deleted, err error) error {
	a.metrics.rowsWritten.WithLabelValues("deleted").Add(float64(result.Deleted))
	if err != nil {
		return partly(err, result.Deleted, result.Missing, "deleted")
	}
	return writeJSON(w, result)
}

// partly adds to the error of a change what was done before it: the store takes
// large changes in several steps. same is how many triples were found as the change
// wants them; they may have been written too.
func partly(err error, n, same int64, done string) error {
	if errors.Is(err, node.ErrFailed) { // of this change or of one before
		err = fmt.Errorf("%w: %w", node.ErrUnknown, err)
	}
	if n == 0 && same == 0 {
		return err
	}
	e := *asError(err)
	e.Done, e.Begun = n, true
	if e.Kind == KindBusy {
		e.Kind = KindUnavailable // by busy clients know that nothing was done
	}
	e.Message = fmt.Sprintf("%s (%d triples were %s before)", e.Message, n, done)
	return &e
}
