// GET, PUT, POST and DELETE /subscriptions.

package subscriptions

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/systemgraph"
)

const path = "/subscriptions"

// API answers for one registry.
type API struct{ registry *subscriptions.Registry }

// New returns the endpoints of a registry.
func New(registry *subscriptions.Registry) *API { return &API{registry} }

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	return endpoint.Table{path: {Below: true, Methods: map[string]*endpoint.Method{
		http.MethodGet:    {Handle: a.get},
		http.MethodPut:    {Params: slices.Concat(request.FilterParams, []string{"url", "since"}), Writes: true, Handle: a.put},
		http.MethodPost:   {Params: []string{"position"}, Writes: true, Handle: a.post},
		http.MethodDelete: {Writes: true, Handle: a.delete},
	}}}
}

type subscriptionList struct {
	Subscriptions []api.Subscription `json:"subscriptions"`
}

func answer(s *subscriptions.Subscription) api.Subscription {
	out := api.Subscription{SubscriptionDefinition: s.Definition, State: s.State}
	if s.URL == "" {
		out.Changes = "/changes?" + url.Values{"since": {s.State.Position}, "subscription": {s.Name}}.Encode()
	}
	return out
}

// nameOf returns the name in a request's path.
func nameOf(r *request.Request) (string, error) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, path), "/")
	if name == "" {
		return "", problem.Errorf(problem.KindBadRequest, "", "the name of the subscription is missing: %s %s/NAME", r.Method, path)
	}
	return name, nil
}

// callerOf returns the identity of a request to the registry.
func callerOf(r *request.Request) subscriptions.Caller {
	return subscriptions.Caller{All: r.Caller.AllApplications(), Owner: r.Caller.Owner(), Operator: r.Caller.MayOperate()}
}

// clientError returns an error of the registry in the form for clients.
func clientError(err error) error {
	var known *problem.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known): // of a parameter of the filter
		return known
	case errors.Is(err, subscriptions.ErrInvalid):
		return &problem.Error{Kind: problem.KindBadRequest, Message: err.Error(), Cause: err}
	case errors.Is(err, subscriptions.ErrUnknown):
		return &problem.Error{Kind: problem.KindNotFound, Message: err.Error(), Cause: err}
	case errors.Is(err, subscriptions.ErrForbidden), errors.Is(err, subscriptions.ErrReads):
		return &problem.Error{Kind: problem.KindForbidden, Message: err.Error(), Cause: err}
	case errors.Is(err, subscriptions.ErrTooMany):
		return &problem.Error{Kind: problem.KindConflict, Message: err.Error(), Cause: err}
	case errors.Is(err, store.ErrConflict):
		return &problem.Error{Kind: problem.KindConflict, Message: "the subscription was changed at the same time; look at it, and try again", Cause: err}
	}
	return err
}

func (a *API) get(w http.ResponseWriter, r *request.Request) error {
	// Without a name, list those that the caller may see.
	if r.URL.Path == path || r.URL.Path == path+"/" {
		list, err := a.registry.List(r.Context())
		if err != nil {
			return err
		}
		out := subscriptionList{Subscriptions: []api.Subscription{}}
		for _, s := range list {
			if callerOf(r).May(s.Owner) {
				out.Subscriptions = append(out.Subscriptions, answer(s))
			}
		}
		return response.WriteJSON(w, out)
	}
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	s, err := a.registry.Visible(r.Context(), callerOf(r), name)
	if err != nil {
		return clientError(err)
	}
	return response.WriteJSON(w, answer(s))
}

func (a *API) put(w http.ResponseWriter, r *request.Request) error {
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	// 1. The parameters that are no target and no position are the filter.
	d := subscriptions.Definition{Name: name, URL: r.Params["url"], Filter: map[string]string{}}
	for name, value := range r.Params {
		if name != "url" && name != "since" {
			d.Filter[name] = value
		}
	}
	if err := checkReads(r, d); err != nil {
		return err
	}
	if err := a.checkAnnotations(r, d); err != nil {
		return err
	}
	if _, err := a.registry.Put(r.Context(), callerOf(r), d, r.Params["since"]); err != nil {
		return clientError(err)
	}
	// 2. Answer with what is stored, and with the secret.
	s, err := a.registry.Visible(r.Context(), callerOf(r), name)
	if err != nil {
		return clientError(err)
	}
	out := answer(s)
	if s.URL != "" {
		out.Secret = a.registry.Secret(&s.Definition)
	}
	return response.WriteJSON(w, out)
}

func kindsOf(d subscriptions.Definition) []string { return strings.Split(d.Filter["kinds"], ",") }

// checkReads rejects a subscription of kind read, unless operators send it.
func checkReads(r *request.Request, d subscriptions.Definition) error {
	if r.Caller.MayOperate() || !slices.Contains(kindsOf(d), feed.Read.String()) {
		return nil
	}
	return problem.Errorf(problem.KindForbidden, "kinds", "kind read needs the token of operators, because it reveals the requests of others")
}

// checkAnnotations rejects a webhook that would get annotations that the caller may not read.
func (a *API) checkAnnotations(r *request.Request, d subscriptions.Definition) error {
	if d.URL == "" || r.Caller.All() {
		return nil // what its application reads itself is checked when it reads
	}
	f, err := a.registry.Filter(d.Filter)
	switch {
	case err != nil:
		return clientError(err)
	case f.Application != "":
		return r.Caller.CheckRead(f.Application)
	case len(f.Kinds) > 0 && !slices.Contains(f.Kinds, feed.Annotate):
		return nil
	case !r.Caller.AllApplications():
		return problem.Errorf(problem.KindForbidden, "kinds", "a webhook for annotations of all applications needs the token of operators: name one with app, or kinds without annotate")
	case f.Pattern.Graph == systemgraph.Graph:
		return problem.Errorf(problem.KindForbidden, "kinds", "a webhook for annotations of <%s> needs the token of operators: name kinds without annotate", systemgraph.IRI)
	}
	return nil
}

// post moves the position of a subscription that its application reads itself.
func (a *API) post(w http.ResponseWriter, r *request.Request) error {
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	if !r.Params.Has("position") {
		return problem.Errorf(problem.KindBadParameter, "position", "is missing: up to which the application has the changes")
	}
	if err := a.registry.Advance(r.Context(), callerOf(r), name, r.Params["position"]); err != nil {
		return clientError(err)
	}
	return response.WriteJSON(w, struct{}{})
}

func (a *API) delete(w http.ResponseWriter, r *request.Request) error {
	name, err := nameOf(r)
	if err != nil {
		return err
	}
	if err := a.registry.Delete(r.Context(), callerOf(r), name); err != nil {
		return clientError(err)
	}
	return response.WriteJSON(w, struct{}{})
}
