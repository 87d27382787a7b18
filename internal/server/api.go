// The API: its assembly, and the route of a request.

package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/engine"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/admin"
	"github.com/trefoildb/trefoil/internal/server/annotations"
	"github.com/trefoildb/trefoil/internal/server/changes"
	"github.com/trefoildb/trefoil/internal/server/console"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/functions"
	"github.com/trefoildb/trefoil/internal/server/graphstore"
	"github.com/trefoildb/trefoil/internal/server/idempotency"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/links"
	"github.com/trefoildb/trefoil/internal/server/openapi"
	prefixapi "github.com/trefoildb/trefoil/internal/server/prefixes"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/queries"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/server/sparql"
	"github.com/trefoildb/trefoil/internal/server/subscriptions"
	"github.com/trefoildb/trefoil/internal/server/text"
	"github.com/trefoildb/trefoil/internal/server/triples"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/systemgraph"
)

// API answers HTTP requests to a store. It is an http.Handler; a [Server] listens for it. It is
// safe for concurrent use.
type API struct {
	shared    *endpoint.Shared
	options   Options
	endpoints endpoint.Table
	paths     []string // sorted
	tokens    *access.Current
	cors      access.CORS
	hosts     access.Hosts
	metrics   *metrics
	encoders  *limits.Budget     // of compressed answers
	end       context.CancelFunc // ends changes that outlive their clients

	triples *triples.API
	sparql  *sparql.API
	links   *links.API // nil without a graph of links
	admin   *admin.API
}

// New returns the endpoints of a store. It fails if an option is invalid, or if the registry
// already has metrics of an API.
func New(db store.Triples, options Options) (*API, error) {
	// 1. Check the options and make what all endpoints share.
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	tokens, err := options.currentTokens()
	if err != nil {
		return nil, err
	}
	ending, end := context.WithCancel(context.Background())
	memory := &limits.Budget{Max: options.MemoryBytes}
	a := &API{
		options: options,
		tokens:  tokens,
		cors:    access.NewCORS(options.AllowOrigins),
		hosts:   access.NewHosts(options.PublicURL, options.AcceptHosts),
		end:     end,
		// Of their own, because a document must not be refused for an encoder.
		encoders: &limits.Budget{Max: options.MemoryBytes / 4},
		shared: &endpoint.Shared{
			Store: prefixes.Hide(graphrights.Guard(db)), Memory: memory, URL: request.PublicURL(options.PublicURL),
			Documents: &request.Documents{MaxBytes: options.MaxBodyBytes, Memory: memory, Contexts: options.Contexts},
			Changes:   &access.Changes{Origins: http.NewCrossOriginProtection(), Full: options.Full, ReadOnly: options.ReadOnly},
			Keys:      idempotency.New(ending),
			Queries:   queries.New(options.SlowQuery),
			PageBytes: response.MaxPageBytes,
			Draining:  endpoint.NewDraining(),
			Reads:     options.Reads,
			Alone:     func() bool { return options.Cluster == nil || options.Cluster.IsAlone() },
			Run:       rand.Text(),
		},
	}
	if options.Engine != nil {
		a.shared.Documents.Turns = options.Engine.Turns()
	}
	if err := a.cors.Trust(a.shared.Changes.Origins); err != nil {
		return nil, err
	}
	// 2. Register metrics. A second API of one registry fails here.
	if err := a.register(); err != nil {
		return nil, err
	}
	// 3. Assemble the table of endpoints.
	return a, a.assemble()
}

// SetTokens replaces the tokens of clients, operators and applications, the users, and the keys of their issuer.
// Requests that run go on. After an error nothing is replaced.
func (a *API) SetTokens(t Tokens) error {
	if err := access.CheckApplications(t.Applications, t.Token, t.OperatorToken); err != nil {
		return err
	}
	issuer, err := a.options.issuer.WithKeys(t.OIDCKeys)
	if err != nil {
		return err
	}
	users, err := access.NewUsers(t.Users, issuer)
	if err != nil {
		return err
	}
	tokens := access.NewTokens(t.Token, t.OperatorToken, t.Applications).WithUsers(users)
	a.tokens.Store(&tokens)
	return nil
}

// register registers the metrics of all endpoints and of the store.
func (a *API) register() (err error) {
	registry := a.options.Registry
	if a.metrics, err = newMetrics(registry, a.shared.Memory, a.options.Version); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if a.shared.Rows, err = endpoint.NewRows(registry); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := a.shared.Store.RegisterMetrics(registry); err != nil {
		return fmt.Errorf("register the store's metrics: %w", err)
	}
	for i, c := range a.options.Collectors {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("register collector %d: %w", i, err)
		}
	}
	return nil
}

// assemble makes the table of endpoints from those of the families.
func (a *API) assemble() (err error) {
	o := &a.options
	a.triples = triples.New(a.shared, o.LoadMemoryBytes, o.MaxLoadBytes)
	a.admin = admin.New(a.shared, o.Cluster, o.Registry, o.MaxBackups, o.Stalled)
	if a.sparql, err = sparql.New(a.shared, o.Engine, o.Registry); err != nil {
		return err
	}
	a.endpoints = console.Table()
	for _, t := range []endpoint.Table{a.triples.Table(), a.admin.Table(), annotations.New(a.shared).Table(), graphstore.New(a.shared).Table(), prefixapi.New(a.shared).Table(), a.sparql.Table(), changes.New(a.shared, o.Subscriptions).Table()} {
		maps.Copy(a.endpoints, t)
	}
	if o.Links != nil {
		if a.links, err = links.New(a.shared, o.Links, o.LinkPredicate, o.Registry, o.MaxLoadBytes); err != nil {
			return err
		}
		maps.Copy(a.endpoints, a.links.Table())
	}
	if o.Text != nil {
		search, err := text.New(a.shared, o.Text, o.Registry)
		if err != nil {
			return err
		}
		maps.Copy(a.endpoints, search.Table())
	}
	// These need more than a store, and are missing without it.
	if o.Functions != nil {
		maps.Copy(a.endpoints, functions.New(a.shared, o.Functions).Table())
	}
	if o.Subscriptions != nil {
		maps.Copy(a.endpoints, subscriptions.New(o.Subscriptions).Table())
	}
	openapi.Add(a.endpoints, openapi.Options{Version: o.Version, URL: a.shared.URL, Locked: a.locked})
	a.paths = slices.Sorted(maps.Keys(a.endpoints))
	return a.checkRules()
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(hw http.ResponseWriter, hr *http.Request) {
	start := time.Now()
	hr = withID(hw.Header(), a.withoutSlash(hr))
	name, method := a.labels(hr)
	hr, span := a.startSpan(hr, method, name)
	access.Sandbox(hw.Header())
	a.cors.Allow(hw.Header(), hr)
	rc := http.NewResponseController(hw)
	limit := limits.SlowLimit{Stall: a.options.StallTimeout, Rate: a.options.MinBytesPerSecond}
	// 1. Prepare the answer: its headers, its writer and the deadlines of both directions.
	w := &response.Writer{ResponseWriter: hw, Rc: rc, SlowLimit: limit}
	if a.options.Cluster != nil {
		w.NoMajority = a.options.Cluster.NoMajority
	}
	w.Compress(hr, a.encoders)
	defer w.Abort()
	_ = rc.SetWriteDeadline(start.Add(a.options.StallTimeout)) // a 100 Continue is written too
	if hr.Body != nil && hr.Body != http.NoBody {
		w.Body = &request.TimedBody{ReadCloser: hr.Body, Rc: rc, SlowLimit: limit}
		hr.Body = w.Body
	}
	if isCrowded(hr) {
		w.Header().Set("Connection", "close")
	}
	// 2. Serve the request, and count and log it. A panic becomes an error, because the server must
	// go on.
	a.metrics.inFlight.Inc()
	defer a.metrics.inFlight.Dec()
	var trace request.Trace
	err := problem.Recover(func() error { return a.serve(w, hr, &trace) })
	if err == nil {
		err = w.End()
	}
	status, abort := a.finish(w, hr, err)
	a.metrics.observe(name, method, status, time.Since(start))
	a.logRequest(w, hr, &trace, status, time.Since(start))
	a.audit(hr, &trace, status)
	endSpan(span, w.Bytes, status, err)
	// 3. End the connection if the answer is broken, because the client must not take it for
	// complete.
	if abort {
		panic(http.ErrAbortHandler) // closes the connection in the middle of the answer
	}
	w.Body.Linger(hr, a.shared.Draining.Load())
}

// finish answers with the error if there is one and nothing was sent. It returns the status for
// metrics and logs. abort reports whether the answer is broken.
func (a *API) finish(w *response.Writer, r *http.Request, err error) (status int, abort bool) {
	// 1. Without an error, only the status may be missing.
	if err == nil {
		if w.Status == 0 {
			w.WriteHeader(http.StatusOK)
		}
		return w.Status, false
	}
	// 2. Classify the error. During a shutdown a cancelled request is unavailable, because the
	// server cancelled it.
	e := problem.As(err)
	if e.Kind == problem.KindGone && a.shared.Draining.Load() {
		e = &problem.Error{Kind: problem.KindUnavailable, Message: "the node is shutting down", RetryAfter: 1, Cause: err}
	}
	inner := e.Kind == problem.KindGone
	e = problem.Ended(r.Context(), e)
	inner = inner && e.Kind != problem.KindGone
	// A read that times out cancels the context too, although the client is there.
	gone := e.Kind == problem.KindGone || r.Context().Err() != nil && e.Kind != problem.KindTimeout && !a.shared.Draining.Load()
	// 3. Log failures. A client that went away gets no answer.
	switch {
	case gone:
		return problem.Statuses[problem.KindGone], true
	case e.Kind.IsFailure(), w.Status != 0, inner:
		if e.Cause != nil {
			err = e.Cause
		}
		level := slog.LevelError
		switch {
		case !e.Kind.IsFailure():
			level = slog.LevelWarn // a limit or another machine ended the answer
		case e.Kind == problem.KindDiskFull && w.Status == 0:
			level = slog.LevelDebug // the log may be on that disk; status and metrics show it
		}
		a.options.Logger.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "sent", w.Status != 0, "err", err)
	}
	// 4. Send the error, unless a part of the answer was sent.
	if w.Status != 0 {
		return e.Status(), true
	}
	w.Body.MustLinger(w.Header(), r)
	response.SendError(w, e)
	return w.Status, false
}

// labels returns a request's endpoint and method for metrics. Unknown names become "other",
// because a client must not create series.
func (a *API) labels(r *http.Request) (name, method string) {
	name, d := a.endpointOf(r.URL.Path)
	if d == nil {
		return "other", "other"
	}
	if r.Method != http.MethodHead && r.Method != http.MethodOptions && d.Methods[r.Method] == nil {
		return name, "other"
	}
	return name, r.Method
}

// serve checks a request and calls its handler.
func (a *API) serve(w *response.Writer, hr *http.Request, trace *request.Trace) error {
	// 1. Check the identity of the request, and what it may do.
	if err := access.CheckHostSyntax(hr.Host); err != nil {
		return err
	}
	path, d := a.endpointOf(hr.URL.Path)
	if isCrowded(hr) && (d == nil || !d.Health) {
		return errCrowded()
	}
	if d != nil {
		if types := d.AcceptQuery(); types != "" {
			w.Header().Set("Accept-Query", types)
		}
	}
	if d != nil && hr.Method == http.MethodOptions {
		a.cors.AnswerOptions(w, hr, d.Allowed()) // without a token: a browser's preflight has none
		return nil
	}
	caller, right, err := a.identify(hr, path)
	trace.User, trace.Right = caller.String(), right
	if err != nil {
		return err
	}
	// 2. Find the handler, and check the request against its declaration.
	if d == nil {
		return problem.Errorf(problem.KindNotFound, problem.Clip(hr.URL.Path), "there is no such endpoint; there are %s", strings.Join(a.paths, ", "))
	}
	name := hr.Method
	if name == http.MethodHead {
		name = http.MethodGet
	}
	m := d.Methods[name]
	if m == nil {
		return methodNotAllowed(hr, d)
	}
	if m.Shown != nil && wantsPage(hr) {
		return a.showPage(w, hr, m.Shown(hr.URL.Query()))
	}
	if m.Writes {
		if err := a.shared.Changes.Check(hr); err != nil {
			return err
		}
	}
	if !m.Body && hr.ContentLength != 0 {
		return problem.Errorf(problem.KindBadRequest, "", "%s %s takes no body", hr.Method, hr.URL.Path)
	}
	var params request.Params
	if !m.OwnParams {
		if params, err = request.ParseParams(hr.URL.RawQuery, m.Params); err != nil {
			return err
		}
	}
	// 3. Call the handler, once for each idempotency key if the request changes data. The digest
	// covers the body from its first byte.
	ctx := graphrights.With(hr.Context(), caller.Graphs())
	if a.options.Audit != nil {
		ctx = graphrights.Record(ctx, &trace.Graphs)
	}
	if caller.IsOperator() {
		ctx = systemgraph.WithOperator(ctx)
	}
	if !caller.All() {
		ctx = engine.WithAnnotationReader(ctx, caller.MayRead)
	}
	if slices.Contains(m.Params, "p") || slices.Contains(m.Params, "order") {
		if err := a.expand(ctx, params); err != nil {
			return err
		}
	}
	hr = hr.WithContext(ctx)
	r := &request.Request{Request: hr, Params: params, Caller: caller, Trace: trace}
	if _, ok := hr.Header[request.KeyHeader]; ok && name != http.MethodGet {
		r.Digest = request.NewDigestBody(hr)
		hr.Body = r.Digest
	}
	if !m.Writes {
		return m.Handle(w, r)
	}
	if name != http.MethodDelete && caller.Graphs() == nil {
		r.Prefixes = &prefixes.Found{}
	}
	err = a.shared.Keys.RunOnce(w, r, m.Handle)
	if err == nil && r.Prefixes != nil {
		a.keepPrefixes(ctx, r.Prefixes)
	}
	return err
}

// prefixTimeout bounds the write of prefixes.
const prefixTimeout = 10 * time.Second

// keepPrefixes keeps the prefixes of documents that are in the store. The triples are there without
// them, so a failure is no error of the request.
func (a *API) keepPrefixes(ctx context.Context, found *prefixes.Found) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), prefixTimeout)
	defer cancel()
	if err := prefixes.Keep(ctx, a.shared.Store, found.Names()); err != nil {
		a.options.Logger.Warn("the prefixes of a document are not kept", "err", err)
	}
}

func methodNotAllowed(r *http.Request, d *endpoint.Path) error {
	allow := d.Allowed()
	e := problem.Errorf(problem.KindMethod, "", "%s does not take %s; it takes %s", r.URL.Path, problem.Clip(r.Method), strings.Join(allow, ", "))
	e.Allow = allow
	return e
}

// expand replaces the names with a prefix of the store in parameters. It reads the prefixes only if it
// needs them.
func (a *API) expand(ctx context.Context, params request.Params) error {
	var names prefixes.Names
	var failed error
	err := params.Expand(func(name string) (string, bool) {
		if names == nil && failed == nil {
			var kept prefixes.Names
			kept, failed = a.shared.KeptPrefixes(ctx)
			names = kept.All()
		}
		iri, ok := names[name]
		return iri, ok
	})
	return cmp.Or(failed, err)
}
