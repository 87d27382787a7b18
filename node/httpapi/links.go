// The doors to the graph of links, under /links: which there are, how a call begins,
// and how its errors are told.

package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/wire"
)

const (
	// maxLinkPages is the most pages that one request asks about.
	maxLinkPages = 100_000
	// epochHeader tells the epoch of the graph when the answer began, where that is known.
	epochHeader = "Trefoil-Links-Epoch"
	// epochNow asks for an answer of one epoch, whichever it is.
	epochNow = "now"
	// earlyPages is from how many pages on a request is refused before it is read, although
	// the epoch has to be asked for.
	earlyPages = 1000
	// loadingRetry is after how many seconds to ask again a graph that is being built.
	loadingRetry = 2
)

// epochGraph is a graph that has its epoch at hand: that of what a read sees which
// begins now; 0 where it has none at hand.
type epochGraph interface{ Epoch() uint64 }

// epochAsker is a graph that has to ask others for its epoch, as in a cluster. told is one
// that a client has, or 0: it is cheaper to tell that it is still that. 0 is none. Of a
// graph that is neither Stats is asked.
type epochAsker interface {
	CurrentEpoch(ctx context.Context, told uint64) (uint64, error)
}

// copiesGraph is a graph of a cluster, of which this machine keeps copies of lists that
// others read. Copied is the epoch of the last view under which it has had all that it
// ought to; 0 is none yet.
type copiesGraph interface{ Copied() uint64 }

// linksDoors are the doors to one graph.
type linksDoors struct {
	*API
	graph links.Graph
	lists *prometheus.CounterVec // by door
	items *prometheus.CounterVec // links, by door
	// pieceLinks bounds the links that are held of an answer, but for one page that has
	// more.
	pieceLinks int
}

const (
	defaultPieceLinks = 1 << 18
	// labelledShare is how many links without labels one with a label counts for.
	labelledShare = 8
)

// newLinksDoors returns the doors to a graph, and registers their metrics.
func newLinksDoors(a *API, graph links.Graph) (*linksDoors, error) {
	l := &linksDoors{API: a, graph: graph, pieceLinks: defaultPieceLinks,
		lists: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_links_lists_total", Help: "Lists of links, samples of them and degrees in answers.",
		}, []string{"door"}),
		items: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_links_served_total", Help: "Links in answers, and links that updates changed.",
		}, []string{"door"}),
	}
	if err := errors.Join(a.options.Registry.Register(l.lists), a.options.Registry.Register(l.items)); err != nil {
		return nil, fmt.Errorf("register metrics of links: %w", err)
	}
	if c, ok := graph.(copiesGraph); ok {
		copied := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "trefoil_links_copied_epoch", Help: "Epoch under which this machine has last had all copies of other machines' lists that it keeps; 0 for none.",
		}, func() float64 { return float64(c.Copied()) })
		if err := a.options.Registry.Register(copied); err != nil {
			return nil, fmt.Errorf("register metrics of links: %w", err)
		}
	}
	return l, nil
}

// table returns the doors under /links.
func (l *linksDoors) table() map[string]*door {
	read := func(handle func(http.ResponseWriter, *request) error) *door {
		return &door{methods: map[string]*method{http.MethodPost: {params: []string{"epoch"}, body: true, handle: told(handle)}}}
	}
	get := func(handle func(http.ResponseWriter, *request) error, params ...string) *door {
		return &door{methods: map[string]*method{http.MethodGet: {params: params, handle: told(handle)}}}
	}
	post := func(handle func(http.ResponseWriter, *request) error) *door {
		return &door{methods: map[string]*method{http.MethodPost: {handle: told(l.fromHere(handle))}}}
	}
	job := get(l.getPageRank)
	job.methods[http.MethodPost] = &method{body: true, handle: told(l.fromHere(l.postPageRank))}
	job.methods[http.MethodDelete] = &method{handle: told(l.fromHere(l.deletePageRank))}
	return map[string]*door{
		"/links/uids":    read(l.postUIDs),
		"/links/urls":    read(l.postURLs),
		"/links/get":     read(l.postGet),
		"/links/sample":  read(l.postSample),
		"/links/degrees": read(l.postDegrees),
		"/links/rank":    read(l.postRank),
		"/links/pages":   get(l.getPages, "after", "limit", "epoch"),
		"/links/stats":   get(l.getLinkStats),
		"/links/update": {methods: map[string]*method{
			http.MethodPost: {writes: true, body: true, handle: told(l.postUpdate)}}},
		"/links/pagerank":   job,
		"/links/request":    post(l.postRequest),
		"/links/relinquish": post(l.postRelinquish),
	}
}

// told has a handler's errors told as those of a graph.
func told(handle func(http.ResponseWriter, *request) error) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		ctx, degraded := links.WatchDegraded(r.Context())
		r.Request = r.WithContext(ctx)
		readsFrom(w, degraded)
		return linksError(handle(w, r))
	}
}

// fromHere refuses what a web page of another origin wants to be done.
func (l *linksDoors) fromHere(handle func(http.ResponseWriter, *request) error) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		if err := checkOrigin(l.crossOrigin, r.Request); err != nil {
			return err
		}
		return handle(w, r)
	}
}

// linksError returns an error of a graph as clients get it.
func linksError(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	e = &Error{Message: err.Error(), cause: err}
	switch {
	case errors.Is(err, links.ErrLoading):
		e.Kind, e.retryAfter = KindLoading, loadingRetry
	case errors.Is(err, links.ErrEpoch):
		e.Kind, e.Where = KindEpoch, "epoch"
	case errors.Is(err, links.ErrBusy):
		e.Kind = KindConflict
	case errors.Is(err, links.ErrNoJob):
		e.Kind = KindNotFound
	case errors.Is(err, links.ErrInvalid):
		e.Kind = KindBadRequest
	default:
		return err
	}
	return e
}

// linksCall is one request that reads the graph.
type linksCall struct {
	*linksDoors
	ctx     context.Context
	w       http.ResponseWriter
	r       *request
	door    string // as metrics have it
	account account
	binary  bool // the form of the answer
	asked   *asked

	pinned bool // only epoch will do
	epoch  uint64
	dear   bool // the epoch is not at hand
}

// beginCall reads a request: its body, where it has one, by Content-Type, the form of
// its answer by Accept, and the epoch. The caller must end the call.
func (l *linksDoors) beginCall(w http.ResponseWriter, r *request, door string, takes *takes) (_ *linksCall, err error) {
	c := &linksCall{linksDoors: l, ctx: r.Context(), w: w, r: r, door: door, account: account{budget: &l.memory, client: clientOf(r.Request)}}
	defer func() {
		if err != nil {
			c.end()
		}
	}()
	offers := []string{typeJSON, wire.MediaType}
	if takes != nil && !takes.binary {
		offers = offers[:1]
	}
	offer := negotiate(r.Header.Values("Accept"), offers)
	if offer < 0 {
		return nil, notAcceptable(offers)
	}
	c.binary = offer == 1
	w.Header().Add("Vary", "Accept")
	text := r.params["epoch"]
	if text != "" && text != epochNow {
		if c.epoch, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, errorf(KindBadParameter, "epoch", "%q is no number, and not %s", clip(text), epochNow)
		}
		c.pinned = true
	}
	if takes != nil {
		if c.asked, err = c.readAsked(takes); err != nil {
			return nil, err
		}
	}
	return c, c.beginEpoch(text == epochNow)
}

func (c *linksCall) end() { c.account.release() }

// beginEpoch sets the header. whichever has the answer be of the epoch that the graph has now.
// Where it is clear that there will be no answer of the epoch that is asked for, the
// request ends here: where the epoch is at hand, and before a read that takes much longer
// than to ask for it.
func (c *linksCall) beginEpoch(whichever bool) (err error) {
	now := c.epochAtHand()
	c.dear = now == 0
	switch {
	case c.dear && (whichever || c.pinned && c.early()):
		now, err = c.askEpoch()
	case c.dear && c.pinned: // it is asked for before anything is answered
		now = c.epoch
	}
	if err != nil {
		return err
	}
	if whichever {
		c.pinned, c.epoch = true, now
	}
	if now != 0 {
		c.w.Header().Set(epochHeader, strconv.FormatUint(now, 10))
	}
	err = c.isOf(now)
	if c.dear && c.asked != nil && len(c.asked.uids)+len(c.asked.urls) == 0 {
		c.pinned = false // there is nothing that would be read at another one
	}
	return err
}

// early reports whether the epoch is checked before a read, too: if it is that of a node
// alone, which a client can guess; if the read takes long; or if there is no read.
func (c *linksCall) early() bool {
	pages := 1
	if c.asked != nil {
		pages = len(c.asked.uids) + len(c.asked.urls)
	}
	return c.epoch < links.MinClusterEpoch || pages == 0 || pages >= earlyPages || c.door == "rank"
}

// epochAtHand returns the epoch, 0 where it is not at hand.
func (c *linksCall) epochAtHand() uint64 {
	if g, ok := c.graph.(epochGraph); ok {
		return g.Epoch()
	}
	return 0
}

// askEpoch returns the epoch of a graph that does not have it at hand.
func (c *linksCall) askEpoch() (uint64, error) {
	if g, ok := c.graph.(epochAsker); ok {
		return g.CurrentEpoch(c.ctx, c.epoch)
	}
	stats, err := c.graph.Stats(c.ctx)
	return stats.Epoch, err
}

// checkEpoch returns an error where the graph is not of the epoch that is asked for. It is
// called after a read and before anything of that is answered: as an epoch that is over
// does not come again, what was read since somebody was told of it is of that epoch.
func (c *linksCall) checkEpoch() (err error) {
	if !c.pinned {
		return nil
	}
	now := c.epochAtHand()
	if now == 0 {
		now, err = c.askEpoch()
	}
	if err != nil {
		return err
	}
	return c.isOf(now)
}

// checkEarly is checkEpoch where another one follows: only if it costs nothing.
func (c *linksCall) checkEarly() error {
	if c.dear {
		return nil
	}
	return c.checkEpoch()
}

// isOf returns an error where the epoch is not the one that is asked for.
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
	c.lists.WithLabelValues(c.door).Add(float64(lists))
	c.items.WithLabelValues(c.door).Add(float64(items))
}

// answered checks that a graph gave as many answers as there were questions.
func answered(what string, got, want int) error {
	if got != want {
		return fmt.Errorf("the graph gave %s of %d pages for %d", what, got, want)
	}
	return nil
}
