// The API: which doors there are, and the way of a request through one.

package httpapi

import (
	"context"
	"fmt"
	"github.com/trefoildb/trefoil/node/turns"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// API answers HTTP requests to a store. It is an http.Handler; [Server] listens
// for it.
type API struct {
	store       Store
	options     Options
	doors       map[string]*door
	paths       []string // of doors, sorted
	tokens      tokens
	crossOrigin *http.CrossOriginProtection
	cors        cors
	hosts       hosts
	memory      budget
	texts       budget        // of queries and updates until they are answered
	pageBytes   int           // maxPageBytes, but for tests
	loads       chan struct{} // has an element for each load that runs
	backups     chan struct{} // the same for backups
	checks      chan struct{} // and for checks
	metrics     *metrics
	links       *linksDoors // nil without a graph of links
	draining    atomic.Bool // a shutdown has begun
	keys        *keys
	ending      context.Context // ends when a shutdown waits no longer
	end         context.CancelFunc
}

// door is one path.
type door struct {
	open     bool // needs no token
	health   bool // answers on connections beyond the room
	operator bool // needs the token of operators, if there is one
	below    bool // answers the paths below its own too
	methods  map[string]*method
}

// method is what a door does for one HTTP method. GET answers HEAD too.
type method struct {
	params []string // all that it takes
	// ownParams leaves the URL's query to the handler: request.params is empty.
	ownParams bool
	writes    bool // changes data; where only some requests do, the handler calls mayWrite
	body      bool // takes a body
	handle    func(w http.ResponseWriter, r *request) error
}

// request is a request that has passed its door.
type request struct {
	*http.Request
	params params
	digest *digestBody // the body of a change with a key; nil without one
	part   int         // of a form, from 1; 0 is no form
	turn   *turns.Turn // in which the body is decompressed and parsed; nil if it is small
}

// New returns the doors of a store.
func New(store Store, options Options) (*API, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	a := &API{
		store: store, options: options,
		tokens:      newTokens(options.Token, options.OperatorToken),
		crossOrigin: http.NewCrossOriginProtection(),
		cors:        newCORS(options.AllowOrigins),
		hosts:       newHosts(options.PublicURL, options.AcceptHosts),
		memory:      budget{max: options.MemoryBytes},
		texts:       budget{max: max(options.MemoryBytes/2, minTextsBytes)},
		pageBytes:   maxPageBytes,
		loads:       make(chan struct{}, 1),
		backups:     make(chan struct{}, options.MaxBackups),
		checks:      make(chan struct{}, 1),
	}
	a.keys = newKeys()
	a.ending, a.end = context.WithCancel(context.Background())
	if err := a.cors.trust(a.crossOrigin); err != nil {
		return nil, err
	}
	var err error
	if a.metrics, err = newMetrics(options.Registry, &a.memory, options.Engine); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if s, ok := store.(interface {
		RegisterMetrics(prometheus.Registerer) error
	}); ok {
		if err := s.RegisterMetrics(options.Registry); err != nil {
			return nil, fmt.Errorf("register the store's metrics: %w", err)
		}
	}
	for i, c := range options.Collectors {
		if err := options.Registry.Register(c); err != nil {
			return nil, fmt.Errorf("register collector %d: %w", i, err)
		}
	}
	a.doors = a.storeDoors()
	maps.Copy(a.doors, a.clusterDoors())
	maps.Copy(a.doors, a.graphStoreDoors())
	maps.Copy(a.doors, a.fragmentsDoors())
	if options.Engine != nil {
		maps.Copy(a.doors, a.sparqlDoors())
	}
	if options.Links != nil {
		if a.links, err = newLinksDoors(a, options.Links); err != nil {
			return nil, err
		}
		maps.Copy(a.doors, a.links.table())
	}
	a.paths = slices.Sorted(maps.Keys(a.doors))
	return a, nil
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(hw http.ResponseWriter, hr *http.Request) {
	start := time.Now()
	sandbox(hw.Header())
	a.cors.allow(hw.Header(), hr)
	rc := http.NewResponseController(hw)
	limit := slowLimit{stall: a.options.StallTimeout, rate: a.options.MinBytesPerSecond}
	w := &response{ResponseWriter: hw, rc: rc, slowLimit: limit, cluster: a.options.Cluster}
	_ = rc.SetWriteDeadline(start.Add(a.options.StallTimeout)) // a 100 Continue is written too
	if hr.Body != nil && hr.Body != http.NoBody {
		w.body = &timedBody{ReadCloser: hr.Body, rc: rc, slowLimit: limit}
		hr.Body = w.body
	}
	if isCrowded(hr) {
		w.Header().Set("Connection", "close")
	}
	a.metrics.inFlight.Inc()
	defer a.metrics.inFlight.Dec()
	err := recovered(func() error { return a.serve(w, hr) })
	status, abort := a.finish(w, hr, err)
	name, method := a.labels(hr)
	a.metrics.observe(name, method, status, time.Since(start))
	a.options.Logger.LogAttrs(hr.Context(), slog.LevelDebug, "request",
		slog.String("method", hr.Method), slog.String("path", hr.URL.Path), slog.Int("status", status),
		slog.Duration("took", time.Since(start)), slog.String("remote", hr.RemoteAddr))
	if abort {
		panic(http.ErrAbortHandler) // closes the connection in the middle of the answer
	}
	w.body.linger(w, hr, a.draining.Load())
}

// finish answers with the error, if there is one and nothing was sent, and
// returns the status for the record. abort tells that the answer is broken.
func (a *API) finish(w *response, r *http.Request, err error) (status int, abort bool) {
	if err == nil {
		if w.status == 0 {
			w.WriteHeader(http.StatusOK)
		}
		return w.status, false
	}
	e := asError(err)
	if e.Kind == kindGone && a.draining.Load() {
		e = &Error{Kind: KindUnavailable, Message: "the node is shutting down", retryAfter: 1, cause: err}
	}
	// A read that times out cancels the context too, although the client is there.
	gone := e.Kind == kindGone || r.Context().Err() != nil && e.Kind != KindTimeout && !a.draining.Load()
	switch {
	case gone:
		return statusOf[kindGone], true
	case e.Kind.isFailure(), w.status != 0:
		if e.cause != nil {
			err = e.cause
		}
		level := slog.LevelError
		if e.Kind == KindDiskFull && w.status == 0 {
			level = slog.LevelDebug // the log may be on that disk; status and metrics show it
		}
		a.options.Logger.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "sent", w.status != 0, "err", err)
	}
	if w.status != 0 {
		return e.Status(), true
	}
	w.body.mustLinger(w.Header(), r)
	e.send(w)
	return w.status, false
}

// labels returns a request's door and method for metrics: names of ours only, so
// that no stranger makes series.
func (a *API) labels(r *http.Request) (name, method string) {
	name, d := a.door(r.URL.Path)
	if d == nil {
		return "other", "other"
	}
	if r.Method != http.MethodHead && r.Method != http.MethodOptions && d.methods[r.Method] == nil {
		return name, "other"
	}
	return name, r.Method
}

// recovered calls do. A panic becomes an error.
func recovered(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			err = &Error{Kind: KindInternal, Message: "internal error; the node's log has more",
				cause: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return do()
}

// serve leads a request through its door.
func (a *API) serve(w *response, hr *http.Request) error {
	if err := checkHostSyntax(hr.Host); err != nil {
		return err
	}
	_, d := a.door(hr.URL.Path)
	if isCrowded(hr) && (d == nil || !d.health) {
		return errCrowded()
	}
	if d != nil && hr.Method == http.MethodOptions {
		a.cors.answerOptions(w, hr, d.allowed()) // without a token: a browser's preflight has none
		return nil
	}
	if d == nil || !d.open {
		if err := a.checkHost(hr); err != nil {
			return err
		}
		if err := a.tokens.check(hr, d != nil && d.operator); err != nil {
			return err
		}
	}
	if d == nil {
		return errorf(KindNotFound, clip(hr.URL.Path), "there is no such endpoint; there are %s", strings.Join(a.paths, ", "))
	}
	name := hr.Method
	if name == http.MethodHead {
		name = http.MethodGet
	}
	m := d.methods[name]
	if m == nil {
		return methodNotAllowed(hr, d)
	}
	if m.writes {
		if err := a.mayWrite(hr); err != nil {
			return err
		}
	}
	if !m.body && hr.ContentLength != 0 {
		return errorf(KindBadRequest, "", "%s %s takes no body", hr.Method, hr.URL.Path)
	}
	var params params
	if !m.ownParams {
		var err error
		if params, err = parseParams(hr.URL.RawQuery, m.params); err != nil {
			return err
		}
	}
	r := &request{Request: hr, params: params}
	if _, ok := hr.Header[keyHeader]; ok && name != http.MethodGet {
		r.digest = newDigestBody(hr)
		hr.Body = r.digest
	}
	if m.writes {
		return a.once(w, r, m.handle)
	}
	return m.handle(w, r)
}

// mayWrite returns why a request may change nothing; nil where it may.
func (a *API) mayWrite(r *http.Request) error {
	if err := checkOrigin(a.crossOrigin, r); err != nil {
		return err
	}
	if a.options.Full != nil {
		return a.options.Full
	}
	if a.options.ReadOnly {
		return errorf(KindReadOnly, "", "this node takes no changes: it serves read-only")
	}
	return nil
}

func methodNotAllowed(r *http.Request, d *door) error {
	allow := d.allowed()
	e := errorf(KindMethod, "", "%s does not take %s; it takes %s", r.URL.Path, clip(r.Method), strings.Join(allow, ", "))
	e.allow = allow
	return e
}
