// The API: which doors there are, and the way of a request through one.

package httpapi

import (
	"fmt"
	"log/slog"
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
	token       token
	crossOrigin *http.CrossOriginProtection
	memory      budget
	pageBytes   int           // maxPageBytes, but for tests
	loads       chan struct{} // has an element for each load that runs
	backups     chan struct{} // the same for backups
	metrics     *metrics
	draining    atomic.Bool // a shutdown has begun
}

// door is one path.
type door struct {
	open    bool // needs no token
	methods map[string]*method
}

// method is what a door does for one HTTP method. GET answers HEAD too.
type method struct {
	params []string // all that it takes
	writes bool     // changes data
	body   bool     // takes a body
	handle func(w http.ResponseWriter, r *request) error
}

// request is a request that has passed its door.
type request struct {
	*http.Request
	params params
}

// New returns the doors of a store.
func New(store Store, options Options) (*API, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	a := &API{
		store: store, options: options,
		token:       newToken(options.Token),
		crossOrigin: http.NewCrossOriginProtection(),
		memory:      budget{max: options.MemoryBytes},
		pageBytes:   maxPageBytes,
		loads:       make(chan struct{}, 1),
		backups:     make(chan struct{}, options.MaxBackups),
	}
	var err error
	if a.metrics, err = newMetrics(options.Registry, &a.memory); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	if s, ok := store.(interface {
		RegisterMetrics(prometheus.Registerer) error
	}); ok {
		if err := s.RegisterMetrics(options.Registry); err != nil {
			return nil, fmt.Errorf("register the store's metrics: %w", err)
		}
	}
	get := func(handle func(http.ResponseWriter, *request) error, params ...string) *door {
		return &door{methods: map[string]*method{http.MethodGet: {params: params, handle: handle}}}
	}
	healthz, readyz := get(a.getHealth), get(a.getReady)
	healthz.open, readyz.open = true, true
	triples := get(a.getTriples, triplesParams...)
	triples.methods[http.MethodPost] = &method{params: addParams, writes: true, body: true, handle: a.postTriples}
	triples.methods[http.MethodDelete] = &method{params: deleteParams, writes: true, body: true, handle: a.deleteTriples}
	a.doors = map[string]*door{
		"/range":   get(a.getRange, rangeParams...),
		"/triples": triples,
		"/count":   get(a.getCount, countParams...),
		"/load": {methods: map[string]*method{
			http.MethodPost: {params: loadParams, writes: true, body: true, handle: a.postLoad}}},
		"/backup":  get(a.getBackup),
		"/status":  get(a.getStatus),
		"/metrics": get(a.getMetrics),
		"/healthz": healthz,
		"/readyz":  readyz,
	}
	for path := range a.doors {
		a.paths = append(a.paths, path)
	}
	slices.Sort(a.paths)
	return a, nil
}

// leftoverTimeout is how long a body may go on coming that nobody reads any more.
var leftoverTimeout = time.Second // a variable for tests

// ServeHTTP answers one request.
func (a *API) ServeHTTP(hw http.ResponseWriter, hr *http.Request) {
	start := time.Now()
	rc := http.NewResponseController(hw)
	patience := patience{stall: a.options.StallTimeout, rate: a.options.MinBytesPerSecond}
	w := &response{ResponseWriter: hw, rc: rc, patience: patience}
	_ = rc.SetWriteDeadline(start.Add(a.options.StallTimeout)) // a 100 Continue is written too
	if hr.Body != nil && hr.Body != http.NoBody {
		body := &patientBody{ReadCloser: hr.Body, rc: rc, patience: patience}
		hr.Body = body
		// Before it sends a header, net/http reads some of what is left of a body, and
		// would wait for it.
		defer func() {
			if !body.ended {
				_ = rc.SetReadDeadline(time.Now().Add(leftoverTimeout))
				_ = rc.SetWriteDeadline(time.Now().Add(2*leftoverTimeout + a.options.StallTimeout))
			}
		}()
	}
	a.metrics.inFlight.Inc()
	defer a.metrics.inFlight.Dec()
	err := a.serve(w, hr)
	status, abort := a.finish(w, hr, err)
	name, method := a.labels(hr)
	a.metrics.observe(name, method, status, time.Since(start))
	a.options.Logger.LogAttrs(hr.Context(), slog.LevelDebug, "request",
		slog.String("method", hr.Method), slog.String("path", hr.URL.Path), slog.Int("status", status),
		slog.Duration("took", time.Since(start)), slog.String("remote", hr.RemoteAddr))
	if abort {
		panic(http.ErrAbortHandler) // closes the connection in the middle of the answer
	}
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
	case e.Status() >= http.StatusInternalServerError && e.Kind != KindBusy && e.Kind != KindUnavailable, w.status != 0:
		if e.cause != nil {
			err = e.cause
		}
		a.options.Logger.Error("request failed", "method", r.Method, "path", r.URL.Path, "sent", w.status != 0, "err", err)
	}
	if w.status != 0 {
		return e.Status(), true
	}
	e.send(w)
	return w.status, false
}

// labels returns a request's door and method for metrics: names of ours only, so
// that no stranger makes series.
func (a *API) labels(r *http.Request) (name, method string) {
	d := a.doors[r.URL.Path]
	if d == nil {
		return "other", "other"
	}
	if r.Method != http.MethodHead && d.methods[r.Method] == nil {
		return r.URL.Path, "other"
	}
	return r.URL.Path, r.Method
}

// serve leads a request through its door. A panic on the way becomes an error.
func (a *API) serve(w *response, hr *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			err = &Error{Kind: KindInternal, Message: "internal error; the node's log has more",
				cause: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	d := a.doors[hr.URL.Path]
	if d == nil || !d.open {
		if err := a.token.check(hr); err != nil {
			return err
		}
	}
	if d == nil {
		return errorf(KindNotFound, clip(hr.URL.Path), "there is no such door; there are %s", strings.Join(a.paths, ", "))
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
		if err := checkOrigin(a.crossOrigin, hr); err != nil {
			return err
		}
		if a.options.ReadOnly {
			return errorf(KindReadOnly, "", "this node takes no changes: it serves read-only")
		}
	}
	if !m.body && hr.ContentLength != 0 {
		return errorf(KindBadRequest, "", "%s %s takes no body", hr.Method, hr.URL.Path)
	}
	params, err := parseParams(hr.URL.RawQuery, m.params)
	if err != nil {
		return err
	}
	return m.handle(w, &request{Request: hr, params: params})
}

func methodNotAllowed(r *http.Request, d *door) error {
	var allow []string
	for name := range d.methods {
		allow = append(allow, name)
		if name == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	e := errorf(KindMethod, "", "%s does not take %s; it takes %s", r.URL.Path, clip(r.Method), strings.Join(allow, ", "))
	e.allow = allow
	return e
}
