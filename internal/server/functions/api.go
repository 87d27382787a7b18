// GET, PUT and DELETE /functions.

package functions

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
)

const (
	path = "/functions"
	// wasm is the media type of modules.
	wasm = "application/wasm"
)

// Registry keeps the functions; see [functions.Service].
type Registry interface {
	Put(ctx context.Context, r functions.Registration, module []byte) (*functions.Status, error)
	Get(ctx context.Context, name string) (*functions.Status, error)
	Module(ctx context.Context, name string) ([]byte, error)
	List(ctx context.Context) ([]*functions.Status, error)
	Delete(ctx context.Context, name string) error
}

// API answers for one registry.
type API struct {
	*endpoint.Shared
	registry Registry
}

// New returns the endpoints of a registry.
func New(s *endpoint.Shared, registry Registry) *API { return &API{s, registry} }

var putParams = append([]string{"kinds", "arguments", "mode", "retries", "then", "loads", "timeout", "memory"}, request.PatternParams...)

// Table returns the endpoints. Functions are code that acts for the node, so they need the token of
// operators.
func (a *API) Table() endpoint.Table {
	return endpoint.Table{path: {Below: true, Methods: map[string]*endpoint.Method{
		http.MethodGet:    {Handle: a.get},
		http.MethodPut:    {Params: putParams, Writes: true, Body: true, Handle: a.put},
		http.MethodDelete: {Writes: true, Handle: a.delete},
	}}}
}

// nameOf returns the name in a request's path.
func nameOf(r *request.Request) (string, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, path), "/")
	if name == "" {
		return "", problem.Errorf(problem.KindBadRequest, "", "the name of the function is missing: %s %s/NAME", r.Method, path)
	}
	return name, nil
}

// clientError returns an error of the registry in the form for clients.
func clientError(err error) error {
	switch {
	case errors.Is(err, functions.ErrInvalid):
		return &problem.Error{Kind: problem.KindBadRequest, Message: err.Error(), Cause: err}
	case errors.Is(err, store.ErrConflict):
		return &problem.Error{Kind: problem.KindConflict, Message: "the function was registered or deleted at the same time; look at it, and try again", Cause: err}
	}
	return err
}

// functionList is the answer of GET /functions.
type functionList struct {
	Functions []*functions.Status `json:"functions"`
}

func (a *API) get(w http.ResponseWriter, r *request.Request) error {
	// 1. Without a name, list all.
	if r.URL.Path == path || r.URL.Path == path+"/" {
		list, err := a.registry.List(r.Context())
		if err != nil {
			return clientError(err)
		}
		return response.WriteJSON(w, functionList{list})
	}
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	// 2. With a name, show the registration and its state, or send the module.
	offers := []string{response.JSON, wasm}
	w.Header().Add("Vary", "Accept")
	switch response.Negotiate(r.Header.Values("Accept"), offers) {
	case 0:
		status, err := a.registry.Get(r.Context(), name)
		if err != nil {
			return clientError(err)
		}
		return response.WriteJSON(w, status)
	case 1:
		module, err := a.registry.Module(r.Context(), name)
		if err != nil {
			return clientError(err)
		}
		w.Header().Set("Content-Type", wasm)
		w.Header().Set("Content-Length", strconv.Itoa(len(module)))
		_, err = w.Write(module)
		return err
	}
	return response.NotAcceptable(offers)
}

func (a *API) put(w http.ResponseWriter, r *request.Request) error {
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	// 1. Read the parameters.
	registration, err := registrationOf(r.Params)
	if err != nil {
		return err
	}
	registration.Name = name
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != wasm {
		return problem.Errorf(problem.KindUnsupportedMedia, "Content-Type", "%q is not %s, the media type of modules", problem.Clip(r.Header.Get("Content-Type")), wasm)
	}
	// 2. Read the module. It is in memory as a whole.
	account := a.Account(r)
	defer account.Release()
	if err := account.Grow(2 * int64(functions.MaxModuleBytes)); err != nil {
		return err
	}
	in, err := request.Open(r, int64(functions.MaxModuleBytes))
	if err != nil {
		return err
	}
	defer in.Close()
	module, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	// 3. Register it.
	status, err := a.registry.Put(r.Context(), registration, module)
	if err != nil {
		return clientError(err)
	}
	return response.WriteJSON(w, status)
}

// registrationOf reads the parameters of PUT.
func registrationOf(p request.Params) (r functions.Registration, err error) {
	// 1. The pattern, the kinds and the arguments.
	pattern, err := p.Pattern()
	if err != nil {
		return r, err
	}
	r.Pattern = functions.PatternText(pattern)
	r.Mode, r.Then = functions.Mode(p["mode"]), functions.Policy(p["then"])
	if p.Has("kinds") {
		r.Kinds = strings.Split(p["kinds"], ",")
	}
	for line := range strings.Lines(p["arguments"]) {
		if line = strings.TrimSpace(line); line != "" {
			r.Arguments = append(r.Arguments, line)
		}
	}
	// 2. Numbers and limits.
	r.Retries = functions.DefaultRetries
	if text, ok := p["retries"]; ok {
		if r.Retries, err = strconv.Atoi(text); err != nil {
			return r, problem.Errorf(problem.KindBadParameter, "retries", "%q is not a number", problem.Clip(text))
		}
	}
	if r.Loads, err = p.Flag("loads"); err != nil {
		return r, err
	}
	timeout, err := p.Number("timeout", 1)
	if err != nil {
		return r, err
	}
	memory, err := p.Size("memory")
	if err != nil {
		return r, err
	}
	r.TimeoutMS, r.MemoryBytes = int64(timeout), int(memory)
	return r, nil
}

func (a *API) delete(w http.ResponseWriter, r *request.Request) error {
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	if err := a.registry.Delete(r.Context(), name); err != nil {
		return clientError(err)
	}
	return response.WriteJSON(w, deleted{name})
}

// deleted is the answer of DELETE.
type deleted struct {
	Deleted string `json:"deleted"`
}
