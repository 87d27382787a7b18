// The endpoints under /links, the begin of a call, and errors of a graph.

package links

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/server/endpoint"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/problem"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/wire"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// MaxPages is the most pages in one request.
	MaxPages = 100_000
	// EpochHeader holds the epoch of the graph when the answer began, if it is known.
	EpochHeader = "Trefoil-Links-Epoch"
	// epochNow pins the answer to the epoch at the begin of the request.
	epochNow = "now"
	// EarlyPages is a number of pages. If a request has as many or more, its epoch is checked
	// before the read, although that costs a call.
	EarlyPages = 1000
	// loadingRetry is the time in seconds until a client may try again while the graph is being
	// built.
	loadingRetry = 2
)

// API answers for one graph.
type API struct {
	*endpoint.Shared
	graph        links.Graph
	predicate    triple.Term // of the triples of links
	maxLoadBytes int64       // of an update; 0 is no limit
	has          links.Capabilities
	lists        *prometheus.CounterVec // by endpoint
	items        *prometheus.CounterVec // links, by endpoint
	// PieceLinks bounds the links of an answer in memory. If one page has more, it is held alone.
	PieceLinks int
}

const (
	defaultPieceLinks = 1 << 18
	// LabelledShare is the cost of a link with a label, in links without one.
	LabelledShare = 8
)

// New returns the endpoints of a graph of the links of a predicate, and registers their metrics.
// maxLoadBytes bounds an update; 0 is no limit.
func New(s *endpoint.Shared, graph links.Graph, predicate string, registry *prometheus.Registry, maxLoadBytes int64) (*API, error) {
	l := &API{Shared: s, graph: graph, predicate: triple.NewIRI(predicate), maxLoadBytes: maxLoadBytes, has: graph.Capabilities(), PieceLinks: defaultPieceLinks,
		lists: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_links_lists_total", Help: "Lists of links, samples of them and degrees in answers.",
		}, []string{"endpoint"}),
		items: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_links_served_total", Help: "Links in answers, and links that updates changed.",
		}, []string{"endpoint"}),
	}
	if err := errors.Join(registry.Register(l.lists), registry.Register(l.items)); err != nil {
		return nil, fmt.Errorf("register metrics of links: %w", err)
	}
	if l.has.Partitions != nil {
		err := errors.Join(registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "trefoil_links_partitions", Help: "Partitions of the link graph whose cells this machine holds.",
		}, func() float64 { held, _ := l.has.Partitions.Partitions(); return float64(held) })),
			registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "trefoil_links_partitions_missing", Help: "Partitions that this machine must hold and does not hold yet.",
			}, func() float64 { _, missing := l.has.Partitions.Partitions(); return float64(missing) })))
		if err != nil {
			return nil, fmt.Errorf("register metrics of links: %w", err)
		}
	}
	return l, nil
}

// Table returns the endpoints.
func (l *API) Table() endpoint.Table {
	// Each kind of endpoint has its own checks: reads take an epoch, jobs reject other origins.
	read := func(handle endpoint.Handler) *endpoint.Path {
		return &endpoint.Path{Methods: map[string]*endpoint.Method{http.MethodPost: {Params: []string{"epoch"}, Body: true, Handle: withGraphErrors(handle)}}}
	}
	get := func(handle endpoint.Handler, params ...string) *endpoint.Path {
		return &endpoint.Path{Methods: map[string]*endpoint.Method{http.MethodGet: {Params: params, Handle: withGraphErrors(handle)}}}
	}
	// The ranking job is one path: read its state, start it, end it.
	job := get(l.getPageRank)
	job.Methods[http.MethodPost] = &endpoint.Method{Body: true, Handle: withGraphErrors(l.fromHere(l.postPageRank))}
	job.Methods[http.MethodDelete] = &endpoint.Method{Handle: withGraphErrors(l.fromHere(l.deletePageRank))}
	stores := get(l.getStores)
	stores.Methods[http.MethodPost] = &endpoint.Method{Body: true, Handle: withGraphErrors(l.fromHere(l.postStores))}
	return endpoint.Table{
		"/links/uids":    read(l.postUIDs),
		"/links/urls":    read(l.postURLs),
		"/links/get":     read(l.postGet),
		"/links/sample":  read(l.postSample),
		"/links/degrees": read(l.postDegrees),
		"/links/labels":  read(l.postLabels),
		"/links/rank":    read(l.postRank),
		"/links/pages":   get(l.getPages, "after", "limit", "epoch"),
		"/links/stats":   get(l.getLinkStats),
		"/links/update": {Methods: map[string]*endpoint.Method{
			http.MethodPost: {Writes: true, Body: true, Handle: withGraphErrors(l.postUpdate)}}},
		"/links/pagerank": job,
		"/links/stores":   stores,
	}
}

// withGraphErrors makes a handler return errors of a graph in the form for clients.
func withGraphErrors(handle endpoint.Handler) endpoint.Handler {
	return func(w http.ResponseWriter, r *request.Request) error { return linksError(r, handle(w, r)) }
}

// fromHere rejects a request if a web page of another origin sends it.
func (l *API) fromHere(handle endpoint.Handler) endpoint.Handler {
	return func(w http.ResponseWriter, r *request.Request) error {
		if err := l.Changes.CheckOrigin(r.Request); err != nil {
			return err
		}
		return handle(w, r)
	}
}

// linksError returns an error of a graph in the form for clients. Other errors stay as they are.
func linksError(r *request.Request, err error) error {
	var e *problem.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	e = &problem.Error{Message: err.Error(), Cause: err}
	// Clients repeat some kinds.
	switch {
	case errors.Is(err, links.ErrLoading):
		e.Kind, e.RetryAfter = problem.KindLoading, loadingRetry
	case errors.Is(err, links.ErrMemory):
		e.Kind = problem.KindLinkMemory
	case errors.Is(err, links.ErrEpoch):
		e.Kind, e.Where = problem.KindEpoch, "epoch"
	case errors.Is(err, links.ErrBusy):
		e.Kind = problem.KindConflict
	case errors.Is(err, links.ErrNoJob):
		e.Kind = problem.KindNotFound
	case errors.Is(err, links.ErrInvalid):
		e.Kind = problem.KindBadRequest
	default:
		return err
	}
	// Figures are of all graphs, so a user with some gets none.
	for _, bare := range []error{links.ErrLoading, links.ErrMemory} {
		if errors.Is(err, bare) && graphrights.FromContext(r.Context()) != nil {
			e.Message = bare.Error()
		}
	}
	return e
}

// linksCall is one request to read the graph.
type linksCall struct {
	*API
	graph    reader             // of the links that the user may read
	has      links.Capabilities // of graph
	rows     store.Reader       // of graph, if the user may read some graphs only
	ctx      context.Context
	w        http.ResponseWriter
	r        *request.Request
	endpoint string // its label in metrics
	account  *limits.Account
	binary   bool // the form of the answer
	query    *parsedQuery

	pinned bool // only epoch is acceptable
	epoch  uint64
	dear   bool // reading the epoch costs a call
}

// beginCall reads a request: its body, if it has one, by Content-Type, the form of its answer by
// Accept, and the epoch. The caller must end the call.
func (l *API) beginCall(w http.ResponseWriter, r *request.Request, name string, takes *takes) (_ *linksCall, err error) {
	c := &linksCall{API: l, graph: l.graph, has: l.has, ctx: r.Context(), w: w, r: r, endpoint: name, account: l.Account(r)}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	// 1. Choose the form of the answer.
	offers := []string{response.JSON, wire.MediaType}
	if takes != nil && !takes.binary {
		offers = offers[:1]
	}
	offer := response.Negotiate(r.Header.Values("Accept"), offers)
	if offer < 0 {
		return nil, response.NotAcceptable(offers)
	}
	c.binary = offer == 1
	w.Header().Add("Vary", "Accept")
	// 2. Read the epoch and the body.
	text := r.Params["epoch"]
	if text != "" && text != epochNow {
		if c.epoch, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, problem.Errorf(problem.KindBadParameter, "epoch", "%q is no number, and not %s", problem.Clip(text), epochNow)
		}
		c.pinned = true
	}
	if takes != nil {
		if c.query, err = c.readQuery(takes); err != nil {
			return nil, err
		}
	}
	if graphrights.FromContext(c.ctx) != nil {
		return c, c.limit(text != "")
	}
	return c, c.beginEpoch(text == epochNow)
}

func (c *linksCall) end() {
	c.account.Release()
	if c.rows != nil {
		c.rows.Close()
	}
}

// beginEpoch sets the header. If whichever is set, it pins the call to the current epoch. It ends
// the request early if the wanted epoch cannot be answered. It does so if the epoch is at hand, or
// if the read would take much longer than a call for the epoch.
func (c *linksCall) beginEpoch(whichever bool) (err error) {
	// 1. Find the epoch: at hand, or by a call if the call pays off.
	now := c.epochAtHand()
	c.dear = now == 0
	switch {
	case c.dear && (whichever || c.pinned && c.checksEpochEarly()):
		now, err = c.fetchEpoch()
	case c.dear && c.pinned: // checked after the read, before anything is answered
		now = c.epoch
	}
	if err != nil {
		return err
	}
	// 2. Pin the call, and set the header.
	if whichever {
		c.pinned, c.epoch = true, now
	}
	if now != 0 {
		c.w.Header().Set(EpochHeader, strconv.FormatUint(now, 10))
	}
	err = c.isOf(now)
	if c.dear && c.query != nil && len(c.query.uids)+len(c.query.urls) == 0 {
		c.pinned = false // because nothing is read, nothing can be of another epoch
	}
	return err
}

// checksEpochEarly reports whether the epoch is checked before a read too: if it is one of a lone node,
// because clients can guess it; if the read takes long; or if there is no read.
func (c *linksCall) checksEpochEarly() bool {
	pages := 1
	if c.query != nil {
		pages = len(c.query.uids) + len(c.query.urls)
	}
	return c.epoch < links.MinClusterEpoch || pages == 0 || pages >= EarlyPages || c.endpoint == "rank"
}

// epochAtHand returns the epoch; 0 if it is not at hand.
func (c *linksCall) epochAtHand() uint64 {
	if c.has.Epoch != nil {
		return c.has.Epoch.Epoch()
	}
	return 0
}

// fetchEpoch returns the epoch by a call, because it is not at hand.
func (c *linksCall) fetchEpoch() (uint64, error) {
	if c.has.RemoteEpoch != nil {
		return c.has.RemoteEpoch.CurrentEpoch(c.ctx, c.epoch)
	}
	stats, err := c.API.graph.Stats(c.ctx)
	return stats.Epoch, err
}

// checkEpoch returns an error if the graph is not of the pinned epoch. It must be called after a
// read and before its result is answered. An epoch never returns once it is over. So if the graph
// still has the epoch, the read was of that epoch.
func (c *linksCall) checkEpoch() (err error) {
	if !c.pinned {
		return nil
	}
	now := c.epochAtHand()
	if now == 0 {
		now, err = c.fetchEpoch()
	}
	if err != nil {
		return err
	}
	return c.isOf(now)
}

// checkEarly is checkEpoch before another one. It does nothing if the check costs a call.
func (c *linksCall) checkEarly() error {
	if c.dear {
		return nil
	}
	return c.checkEpoch()
}

// isOf returns an error if the epoch is not the pinned one.
func (c *linksCall) isOf(now uint64) error {
	switch {
	case !c.pinned:
		return nil
	case now == 0:
		return fmt.Errorf("%w: the graph has none: it is not loaded yet, or nothing was ever in it", links.ErrEpoch)
	case now != c.epoch:
		return fmt.Errorf("%w: the graph is at epoch %d, not %d", links.ErrEpoch, now, c.epoch)
	}
	return nil
}

// served counts lists and their links.
func (c *linksCall) served(lists, items int) {
	c.lists.WithLabelValues(c.endpoint).Add(float64(lists))
	c.items.WithLabelValues(c.endpoint).Add(float64(items))
}

// answered returns an error if a graph did not answer for each page.
func answered(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("the graph gave %s of %d pages for %d", what, got, want)
	}
	return nil
}
