// GET, PUT and DELETE of one annotation, and the list of a triple's annotations.

package annotations

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// API answers requests for annotations.
type API struct{ *endpoint.Shared }

// New returns the endpoints of annotations.
func New(s *endpoint.Shared) *API { return &API{s} }

var params = []string{"s", "p", "o", "g", "app"}

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	path := endpoint.Get(a.get, params...)
	path.Methods[http.MethodPut] = &endpoint.Method{Params: params, Writes: true, Body: true, Handle: a.put}
	path.Methods[http.MethodDelete] = &endpoint.Method{Params: params, Writes: true, Handle: a.delete}
	path.Methods[http.MethodPost] = &endpoint.Method{Writes: true, Body: true, Handle: a.post}
	return endpoint.Table{"/annotations": path}
}

// target returns the triple and the application of a change.
func target(p request.Params) (t triple.Triple, app string, err error) {
	if t, err = p.Triple(); err != nil {
		return t, "", err
	}
	app = p["app"]
	switch {
	case app == "":
		return t, "", problem.Errorf(problem.KindBadParameter, "app", "is missing: the ID of the application whose annotation it is")
	case len(app) > triple.MaxApplicationID:
		return t, "", problem.Errorf(problem.KindBadParameter, "app", "has %d bytes, not 1 to %d", len(app), triple.MaxApplicationID)
	}
	return t, app, nil
}

// get answers with the content of one annotation, or with a list if app is missing.
func (a *API) get(w http.ResponseWriter, r *request.Request) error {
	if !r.Params.Has("app") {
		return a.list(w, r)
	}
	t, app, err := target(r.Params)
	if err == nil {
		err = r.Caller.CheckRead(app)
	}
	if err != nil {
		return err
	}
	sn, err := a.Reader(w, r)
	if err != nil {
		return err
	}
	defer sn.Close()
	found, err := sn.Annotation(r.Context(), t, app)
	if err != nil {
		return err
	}
	if found == nil {
		return problem.Errorf(problem.KindNotFound, "app", "the application has no annotation on this triple, or the triple is missing")
	}
	account := a.Account(r)
	defer account.Release()
	if err := account.Grow(int64(len(found.Data))); err != nil {
		return err
	}
	// Answer, unless the client has this version.
	media, content := triple.CutMedia(found.Data)
	h := w.Header()
	h.Set("ETag", tagOf(found.Version))
	h.Set("Cache-Control", "no-cache")
	for _, tag := range tags(r.Header.Values("If-None-Match")) {
		if tag == "*" || strings.TrimPrefix(tag, "W/") == tagOf(found.Version) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return response.WriteWhole(w, media, content)
}

// list answers with all annotations of a triple that the caller may read. If there are none, the
// triple may be missing.
func (a *API) list(w http.ResponseWriter, r *request.Request) error {
	t, err := r.Params.Triple()
	if err != nil {
		return err
	}
	if response.Negotiate(r.Header.Values("Accept"), []string{response.JSON}) < 0 {
		return response.NotAcceptable([]string{response.JSON})
	}
	sn, err := a.Reader(w, r)
	if err != nil {
		return err
	}
	defer sn.Close()
	w.Header().Set("Content-Type", response.JSON)
	out := response.NewStream(w, r.Request, "")
	defer out.Release()
	// 1. Annotations one by one, because all together may be large.
	b := append(out.Buffer(), `{"annotations":[`...)
	between := ""
	for found, err := range sn.Annotations(r.Context(), t) {
		if err != nil {
			return err
		}
		if !r.Caller.MayRead(found.ApplicationID) {
			continue
		}
		b = append(b, between...)
		between = ","
		if b, err = out.Filled(triple.AppendAnnotationJSON(b, &found, store.FormatVersion(found.Version))); err != nil {
			return err
		}
	}
	// 2. Without any, tell a missing triple from one without annotations.
	if between == "" {
		n, err := sn.Count(r.Context(), triple.Pattern{Subject: t.Subject, Predicate: t.Predicate, Object: t.Object, Graph: t.Graph, DefaultGraph: t.Graph.IsZero()})
		if err != nil {
			return err
		}
		if n == 0 {
			return missing()
		}
	}
	out.Buf = append(b, "]}\n"...)
	return out.End()
}

func missing() error {
	return problem.Errorf(problem.KindNotFound, "s", "there is no such triple; g names its graph if it is in one")
}

// tagOf returns the entity tag of a version.
func tagOf(v triple.Stamp) string { return strconv.Quote(store.FormatVersion(v)) }

// tags splits the entity tags of a header.
func tags(values []string) (all []string) {
	for _, value := range values {
		for tag := range strings.SplitSeq(value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				all = append(all, tag)
			}
		}
	}
	return all
}

// conditionOf returns the condition of a change: If-Match with one version, or If-None-Match: *.
func conditionOf(r *request.Request) (when store.Condition, err error) {
	// 1. A header without a tag is a mistake. To ignore it would overwrite another version.
	match, none := tags(r.Header.Values("If-Match")), tags(r.Header.Values("If-None-Match"))
	for header, given := range map[string][]string{"If-Match": match, "If-None-Match": none} {
		if len(r.Header.Values(header)) > 0 && len(given) == 0 {
			return when, problem.Errorf(problem.KindBadRequest, header, "is empty; leave it out if the annotation may have any version")
		}
	}
	// 2. One of them has one condition.
	switch {
	case len(match) > 0 && len(none) > 0:
		return when, problem.Errorf(problem.KindBadRequest, "If-None-Match", "both If-Match and If-None-Match; give one")
	case len(none) == 1 && none[0] == "*":
		return store.Condition{Absent: true}, nil
	case len(none) > 0:
		return when, problem.Errorf(problem.KindBadRequest, "If-None-Match", "%q is not *: a change requires a version by If-Match", problem.Clip(none[0]))
	case len(match) == 0:
		return when, nil
	case len(match) > 1 || match[0] == "*":
		return when, problem.Errorf(problem.KindBadRequest, "If-Match", "give the one version that the annotation must have, as its ETag")
	}
	text, err := strconv.Unquote(match[0])
	if err == nil {
		when.Version, err = store.ParseVersion(text)
	}
	if err != nil { // nothing has this tag
		return when, problem.Errorf(problem.KindPrecondition, "If-Match", "%s is not the version of an annotation; nothing was changed", problem.Clip(match[0]))
	}
	return when, nil
}

// changeOf returns what a PUT or DELETE changes, and its condition. The caller may change it.
func changeOf(r *request.Request) (t triple.Triple, app string, when store.Condition, err error) {
	if t, app, err = target(r.Params); err == nil {
		err = r.Caller.CheckWrite(app)
	}
	if err == nil {
		when, err = conditionOf(r)
	}
	return t, app, when, err
}

// put sets an annotation. The answer is 204, with the new version as ETag.
func (a *API) put(w http.ResponseWriter, r *request.Request) error {
	// 1. Check everything before the body is read.
	t, app, when, err := changeOf(r)
	if err != nil {
		return err
	}
	media := strings.TrimSpace(r.Header.Get("Content-Type"))
	if media == "" {
		media = triple.DefaultMedia
	}
	if err := triple.CheckMedia(media); err != nil {
		return problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%v", err)
	}
	// 2. Read the content.
	account := a.Account(r)
	defer account.Release()
	content, err := readContent(r)
	if err != nil {
		return err
	}
	if err := account.Grow(4 * int64(len(content))); err != nil { // with the copies in each order
		return err
	}
	data, err := triple.AppendMedia([]byte{}, media, content)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	return a.change(w, r, t, app, data, when)
}

// readContent reads the body of a PUT.
func readContent(r *request.Request) ([]byte, error) {
	if r.Header.Get("Content-Range") != "" {
		return nil, problem.Errorf(problem.KindBadRequest, "Content-Range", "an annotation is sent whole")
	}
	tooLarge := problem.Errorf(problem.KindTooLarge, "body", "an annotation has at most %d bytes", triple.MaxAnnotationContent)
	in, err := request.Open(r, triple.MaxAnnotationContent)
	var content []byte
	if err == nil {
		defer in.Close()
		content, err = io.ReadAll(in)
	}
	if err != nil && problem.As(err).Kind == problem.KindTooLarge {
		return nil, tooLarge
	}
	return content, err
}

// delete removes an annotation. The answer is 204, also if there is none.
func (a *API) delete(w http.ResponseWriter, r *request.Request) error {
	t, app, when, err := changeOf(r)
	if err != nil {
		return err
	}
	return a.change(w, r, t, app, nil, when)
}

// change sets or removes an annotation.
func (a *API) change(w http.ResponseWriter, r *request.Request, t triple.Triple, app string, data []byte, when store.Condition) error {
	version, err := store.AnnotateIf(r.Context(), a.Store, t, app, data, when)
	var conflict *store.ConflictError
	switch {
	case errors.As(err, &conflict):
		return conflicting(conflict, when)
	case errors.Is(err, store.ErrNotFound):
		return missing()
	case err != nil:
		return err
	}
	if version != (triple.Stamp{}) {
		w.Header().Set("ETag", tagOf(version))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// conflicting returns the error of a condition that does not hold. It names the current version.
func conflicting(conflict *store.ConflictError, when store.Condition) error {
	where := "If-Match"
	if when.Absent {
		where = "If-None-Match"
	}
	e := problem.Errorf(problem.KindPrecondition, where, "%v; nothing was changed", conflict)
	if conflict.Current != (triple.Stamp{}) {
		e.Version = store.FormatVersion(conflict.Current)
	}
	e.Cause = conflict
	return e
}
