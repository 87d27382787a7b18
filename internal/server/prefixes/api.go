// GET, POST, PUT and DELETE /prefixes.

package prefixes

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
)

const (
	path = "/prefixes"
	// turtle is the media type of a list as @prefix lines.
	turtle = "text/turtle"
	// maxBody bounds the body of POST: all prefixes of a store, with their quotes.
	maxBody = prefixes.MaxPrefixes * (prefixes.MaxNameBytes + prefixes.MaxIRIBytes + 16)
)

// API answers for the prefixes of the store.
type API struct{ *endpoint.Shared }

// New returns the endpoints.
func New(s *endpoint.Shared) *API { return &API{s} }

// Table returns the endpoints. Prefixes are read and changed with the rights of triples.
func (a *API) Table() endpoint.Table {
	return endpoint.Table{path: {Below: true, Methods: map[string]*endpoint.Method{
		http.MethodGet:    {Handle: a.get},
		http.MethodPost:   {Writes: true, Body: true, Handle: a.post},
		http.MethodPut:    {Params: []string{"iri"}, Writes: true, Handle: a.put},
		http.MethodDelete: {Writes: true, Handle: a.delete},
	}}}
}

// named is one prefix.
type named struct {
	Name string `json:"name"`
	IRI  string `json:"iri"`
}

// nameOf returns the name in a request's path; "" if there is none.
func nameOf(r *request.Request) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, path), "/")
}

func needName(r *request.Request) (string, error) {
	name := nameOf(r)
	if name == "" {
		return "", problem.Errorf(problem.KindBadRequest, "", "the prefix is missing: %s %s/NAME", r.Method, path)
	}
	return name, nil
}

func (a *API) get(w http.ResponseWriter, r *request.Request) error {
	kept, err := a.KeptPrefixes(r.Context())
	if err != nil {
		return err
	}
	// 1. One prefix.
	all := kept.All()
	if name := nameOf(r); name != "" {
		if all[name] == "" {
			return clientError(prefixes.ErrNotFound)
		}
		return response.WriteJSON(w, named{name, all[name]})
	}
	// 2. All of them, as JSON or as a document that every program for Turtle reads.
	offers := []string{response.JSON, turtle}
	w.Header().Add("Vary", "Accept")
	switch response.Negotiate(r.Header.Values("Accept"), offers) {
	case 0:
		list := api.PrefixList{Kept: kept, WellKnown: prefixes.WellKnown()}
		maps.DeleteFunc(list.WellKnown, func(name, _ string) bool { return kept[name] != "" })
		return response.WriteJSON(w, list)
	case 1:
		w.Header().Set("Content-Type", turtle)
		var text bytes.Buffer
		for _, name := range slices.Sorted(maps.Keys(all)) {
			text.WriteString("@prefix " + name + ": <" + all[name] + "> .\n")
		}
		_, err := w.Write(text.Bytes())
		return err
	}
	return response.NotAcceptable(offers)
}

// post keeps prefixes of documents: names that the store has stay as they are.
func (a *API) post(w http.ResponseWriter, r *request.Request) error {
	// 1. Read the body: a JSON object of names and IRIs.
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != response.JSON {
		return problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%q is not %s", problem.Clip(r.Header.Get("Content-Type")), response.JSON)
	}
	account := a.Account(r)
	defer account.Release()
	if err := account.Grow(2 * maxBody); err != nil {
		return err
	}
	in, err := request.Open(r, maxBody)
	if err != nil {
		return err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var found prefixes.Names
	if err := json.Unmarshal(text, &found); err != nil {
		return problem.Errorf(problem.KindBadRequest, request.BodyName, `is no JSON object such as {"ex":"http://example.org/"}: %v`, err)
	}
	for name, iri := range found {
		if err := prefixes.Check(name, iri); err != nil {
			return problem.Errorf(problem.KindBadRequest, request.BodyName, "%v", err)
		}
	}
	// 2. Keep what is new.
	if err := prefixes.Keep(r.Context(), a.Store, found); err != nil {
		return clientError(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) put(w http.ResponseWriter, r *request.Request) error {
	name, err := needName(r)
	if err != nil {
		return err
	}
	iri, err := r.Params.Iri("iri")
	if err != nil {
		return err
	}
	if iri.IsZero() {
		return problem.Errorf(problem.KindBadParameter, "iri", "is missing: the IRI that %s: stands for", problem.Clip(name))
	}
	if err := prefixes.Set(r.Context(), a.Store, name, iri.Value()); err != nil {
		return clientError(err)
	}
	return response.WriteJSON(w, named{name, iri.Value()})
}

func (a *API) delete(w http.ResponseWriter, r *request.Request) error {
	name, err := needName(r)
	if err != nil {
		return err
	}
	if err := prefixes.Remove(r.Context(), a.Store, name); err != nil {
		return clientError(err)
	}
	return response.WriteJSON(w, removed{name})
}

// removed is the answer of DELETE.
type removed struct {
	Deleted string `json:"deleted"`
}

// clientError returns an error of package prefixes in the form for clients.
func clientError(err error) error {
	if errors.Is(err, prefixes.ErrNotFound) {
		return &problem.Error{Kind: problem.KindNotFound, Message: "the store has no such prefix; GET " + path + " lists them", Cause: err}
	}
	return err
}
