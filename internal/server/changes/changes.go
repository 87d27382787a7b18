// The endpoints /changes and /changes/position, and their parameters.

package changes

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/readtimeout"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/subscriptions"
)

// API answers requests for changes.
type API struct {
	*endpoint.Shared
	registry *subscriptions.Registry // nil if there are no subscriptions
	// streams is the memory of open answers. They have no end, so they must not take what writers need.
	streams *limits.Budget
}

// New returns the endpoints of the change feed. A registry lets clients name a subscription in place
// of a filter.
func New(s *endpoint.Shared, registry *subscriptions.Registry) *API {
	return &API{s, registry, &limits.Budget{Max: s.Memory.Max}}
}

// Paths of this package.
const (
	Path         = "/changes"
	PositionPath = "/changes/position"
)

var params = slices.Concat(request.FilterParams, []string{"since", "expand", "follow", "heartbeat", "subscription"})

// Table returns the endpoints.
func (a *API) Table() endpoint.Table {
	return endpoint.Table{Path: endpoint.Get(a.getChanges, params...), PositionPath: endpoint.Get(a.getPosition)}
}

// position is the answer of /changes/position.
type position struct {
	Position string `json:"position"`
}

func (a *API) getPosition(w http.ResponseWriter, r *request.Request) error {
	ctx, cancel := readtimeout.Bound(r.Context())
	defer cancel()
	p, err := a.Store.Feed().Position(ctx)
	if err != nil {
		return err
	}
	return response.WriteJSON(w, position{p.String()})
}

const (
	defaultHeartbeat = 15 * time.Second
	maxHeartbeat     = 5 * time.Minute
	batchBytes       = 256 << 10
	streamMemory     = 4 * batchBytes // a batch, its text, and its compressed form
)

func (a *API) getChanges(w http.ResponseWriter, r *request.Request) error {
	// 1. Read the parameters.
	q, expand, err := a.parse(r)
	if err != nil {
		return err
	}
	offers := make([]string, len(formats))
	for i := range formats {
		offers[i] = formats[i].mediaType
	}
	chosen := response.Negotiate(r.Header.Values("Accept"), offers)
	if chosen < 0 {
		return response.NotAcceptable(offers)
	}
	f := &formats[chosen]
	w.Header().Add("Vary", "Accept, Last-Event-ID")
	// 2. Without a position the answer begins at the current end.
	source := a.Store.Feed()
	if since := sinceOf(r); since == "" {
		waiting, cancel := readtimeout.Bound(r.Context())
		q.Since, err = source.Position(waiting)
		cancel()
	} else {
		q.Since, err = feed.ParsePosition(since)
	}
	if err != nil {
		return asProblem(err, r)
	}
	// 3. The stream's memory counts until it ends.
	account := limits.NewAccount(a.streams, r.Request)
	defer account.Release()
	if account.Grow(streamMemory) != nil {
		return problem.Busyf("streams of changes hold their memory (%d MiB for all clients, two thirds of it for one); follow at another node, or try again", a.streams.Max>>20)
	}
	s := &stream{api: a, w: w, r: r, format: f, request: q, expand: expand || f.expands, position: q.Since.String()}
	s.addKinds()
	return s.run(source)
}

// sinceOf returns the position at which a client continues. Browsers reconnect with the same URL
// and a header, so the header is the newer one.
func sinceOf(r *request.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return r.Params["since"]
}

// filter returns the requested filter: that of a subscription, or that of the parameters.
func (a *API) filter(r *request.Request) (f feed.Filter, err error) {
	// 1. Reads are no changes of triples: their counts belong to a subscription.
	p := r.Params
	name, ok := p["subscription"]
	if !ok || a.registry == nil {
		f, err = p.Filter()
		if err == nil && subscriptions.CountsReads(f) {
			err = problem.Errorf(problem.KindBadParameter, "kinds", "reads are counted for a subscription only: store one by PUT /subscriptions/NAME?kinds=read, and follow it by subscription=NAME")
		}
		return f, err
	}
	// 2. A subscription has its own filter.
	for _, other := range request.FilterParams {
		if p.Has(other) {
			return f, problem.Errorf(problem.KindBadParameter, other, "does not go with subscription, which has its own filter")
		}
	}
	by := subscriptions.Caller{All: r.Caller.AllApplications(), Owner: r.Caller.Owner()}
	s, err := a.registry.Visible(r.Context(), by, name)
	switch {
	case errors.Is(err, subscriptions.ErrUnknown):
		return f, &problem.Error{Kind: problem.KindNotFound, Message: err.Error(), Cause: err}
	case errors.Is(err, subscriptions.ErrForbidden):
		return f, &problem.Error{Kind: problem.KindForbidden, Message: err.Error(), Cause: err}
	case errors.Is(err, subscriptions.ErrInvalid):
		return f, &problem.Error{Kind: problem.KindBadParameter, Where: "subscription", Message: err.Error(), Cause: err}
	case err != nil:
		return f, err
	}
	if f, err = a.registry.Filter(s.Filter); err != nil {
		return f, err
	}
	if subscriptions.CountsReads(f) && !r.Caller.MayOperate() {
		return f, problem.Errorf(problem.KindForbidden, "subscription", "it counts reads, which are shown to operators only, because they reveal the requests of others")
	}
	// 3. If the feed no longer reaches back, the answer names the rows of this filter.
	maps.Copy(p, s.Filter)
	return subscriptions.FeedFilter(name, f), nil
}

// parse returns the requested part of the feed, without its beginning.
func (a *API) parse(r *request.Request) (q feed.Request, expand bool, err error) {
	// 1. The filter. Annotations of other applications must not show.
	p := r.Params
	q = feed.Request{Follow: true, Heartbeat: defaultHeartbeat, ForClient: true, MaxBytes: batchBytes}
	if q.Filter, err = a.filter(r); err != nil {
		return q, false, err
	}
	if id := q.Filter.Application; id != "" {
		if err := r.Caller.CheckRead(id); err != nil {
			return q, false, err
		}
	}
	// 2. How the answer ends, and how often it says that it lives.
	if p.Has("follow") {
		if q.Follow, err = p.Flag("follow"); err != nil {
			return q, false, err
		}
	}
	if seconds, err := p.Number("heartbeat", 1); err != nil {
		return q, false, err
	} else if seconds > 0 {
		q.Heartbeat = min(time.Duration(seconds)*time.Second, maxHeartbeat)
	}
	expand, err = p.Flag("expand")
	return q, expand, err
}

// asProblem returns an error of the feed in the form for clients.
func asProblem(err error, r *request.Request) error {
	var gone *feed.GoneError
	switch {
	case errors.As(err, &gone):
		e := problem.Errorf(problem.KindFeedGone, "since", "%v; read the rows again, then continue", err)
		e.Cause, e.Continue, e.Read = err, gone.Continue.String(), []string{rows(r.Params)}
		return e
	case errors.Is(err, feed.ErrPosition):
		where := "since"
		if r.Header.Get("Last-Event-ID") != "" {
			where = "Last-Event-ID"
		}
		e := problem.Errorf(problem.KindBadParameter, where, "%v", err)
		e.Cause = err
		return e
	}
	return err
}

// rows returns the request for all rows that a filter selects, with their annotations if it selects them.
func rows(p request.Params) string {
	path, names := "/triples", request.PatternParams
	if slices.ContainsFunc(request.BoundsParams, p.Has) {
		path, names = "/range", request.BoundsParams
	}
	query := url.Values{}
	for _, name := range names {
		if p.Has(name) {
			query.Set(name, p[name])
		}
	}
	if !p.Has("kinds") || slices.Contains(strings.Split(p["kinds"], ","), feed.Annotate.String()) {
		query.Set("annotations", "true")
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// retryAfter is the pause before a browser reconnects, in milliseconds.
var retryAfter = strconv.Itoa(1000)
