// State shared by all endpoints.

package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/cespare/xxhash/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/graphrights"
	"github.com/trefoildb/trefoil/internal/logs"
	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/readcount"
	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/idempotency"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/queries"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/rdfload/syntax"
	"github.com/trefoildb/trefoil/triple"
)

// Shared is the state for the endpoints of all families.
type Shared struct {
	Store     store.Triples
	Memory    *limits.Budget // of documents and pages
	Documents *request.Documents
	URL       request.PublicURL
	Changes   *access.Changes
	Keys      *idempotency.Keys
	Queries   *queries.Registry
	Rows      *rows
	PageBytes int // of a page; see response.MaxPageBytes
	Draining  *Draining
	Reads     *readcount.Counter // of what clients read; nil counts nothing
	Alone     func() bool        // whether the node is in no cluster
	Run       string             // differs between processes
}

// Tag returns an entity tag for an answer of this content type that depends on the request and on the
// triples only. It must be called before the triples are read. It changes with the position of the
// change feed, and when the node starts, because its settings may be others. It is "" in a cluster,
// because there a position is a round trip to all members, and if the user may read some graphs only, because
// it changes with the others, too.
func (s *Shared) Tag(r *request.Request, contentType string) (string, error) {
	if !s.Alone() || graphrights.FromContext(r.Context()) != nil {
		return "", nil
	}
	position, err := s.Store.Feed().Position(r.Context())
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`"%016x"`, xxhash.Sum64String(s.Run+" "+position.String()+" "+contentType+" "+r.URL.RequestURI())), nil
}

// Draining reports to requests that a shutdown has begun. It is safe for concurrent use.
type Draining struct {
	once sync.Once
	done chan struct{}
}

// NewDraining returns a Draining that has not begun.
func NewDraining() *Draining { return &Draining{done: make(chan struct{})} }

// Begin begins the shutdown.
func (d *Draining) Begin() { d.once.Do(func() { close(d.done) }) }

// Done returns a channel that is closed when the shutdown begins.
func (d *Draining) Done() <-chan struct{} { return d.done }

// Load reports whether the shutdown has begun.
func (d *Draining) Load() bool {
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// Account returns an account for the client of a request.
func (s *Shared) Account(r *request.Request) *limits.Account {
	return limits.NewAccount(s.Memory, r.Request)
}

// BeginQuery registers a request as a running query, and gives it a context that ends if the query is
// stopped. The API ends the query with the request.
func (s *Shared) BeginQuery(r *request.Request, kind, text string) *queries.Query {
	ctx, q := s.Queries.Begin(r.Context(), api.QueryInfo{Kind: kind, Text: text, User: r.Trace.User, Request: logs.RequestOf(r.Context())})
	r.Request, r.Trace.Query = r.WithContext(ctx), q
	return q
}

// Reader returns a reader for the answer to a request. The header of the answer reports if it is
// degraded. What is read counts for subscriptions of kind read.
func (s *Shared) Reader(w http.ResponseWriter, r *request.Request) (store.Reader, error) {
	sn, err := s.Store.Reader()
	if err != nil {
		return nil, err
	}
	response.SetSource(w, sn)
	sn = graphrights.Filter(r.Context(), sn)
	if s.Reads.Active() {
		sn = s.Reads.Observe(sn, ReadsAs(r))
	}
	return sn, nil
}

// ReadsAs returns the identity under which the reads of a request count.
func ReadsAs(r *request.Request) readcount.Caller {
	kind, name := r.Caller.Identity()
	return readcount.Caller{Kind: kind, Application: name}
}

// rootPrefixes are declared at the start of answers in RDF/XML.
var rootPrefixes = map[string]string{
	"rdf": triple.RDF, "xsd": triple.XSD,
	"rdfs": "http://www.w3.org/2000/01/rdf-schema#",
	"owl":  "http://www.w3.org/2002/07/owl#",
}

// Prefixes returns the prefixes for a document of a syntax: those of its request, and for Turtle and TriG
// those of the store. RDF/XML must declare all at its start, so it gets none of the store. If declared is nil, the
// request has none, and RDF/XML gets the usual ones.
func (s *Shared) Prefixes(ctx context.Context, to syntax.Syntax, declared map[string]string) (prefixes.Names, error) {
	if declared == nil {
		declared = rootPrefixes
	}
	if to != syntax.Turtle && to != syntax.TriG {
		return declared, nil
	}
	kept, err := s.KeptPrefixes(ctx)
	return kept.All().With(declared), err
}

// CountWritten counts the triples of a change, for the metrics and the audit log.
func (s *Shared) CountWritten(r *request.Request, added, deleted int64) {
	s.Rows.Written.WithLabelValues("added").Add(float64(added))
	s.Rows.Written.WithLabelValues("deleted").Add(float64(deleted))
	r.Trace.Added += added
	r.Trace.Deleted += deleted
}

// CountLoaded counts the triples of a bulk load or a restore.
func (s *Shared) CountLoaded(r *request.Request, loaded int64) {
	s.Rows.Written.WithLabelValues("loaded").Add(float64(loaded))
	r.Trace.Added += loaded
}

// KeptPrefixes returns the prefixes of the store. A user with some graphs only gets none, because they come from
// documents of all graphs.
func (s *Shared) KeptPrefixes(ctx context.Context) (prefixes.Names, error) {
	if graphrights.FromContext(ctx) != nil {
		return prefixes.Names{}, nil
	}
	return prefixes.Read(ctx, s.Store)
}

// rows counts triples.
type rows struct {
	Read    prometheus.Counter
	Written *prometheus.CounterVec // by change
}

// NewRows registers the counters. It fails if the registry has them.
func NewRows(registry *prometheus.Registry) (*rows, error) {
	c := &rows{
		Read: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "trefoil_http_rows_read_total", Help: "Triples in answers.",
		}),
		Written: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "trefoil_http_rows_written_total", Help: "Triples added, deleted and loaded.",
		}, []string{"change"}),
	}
	return c, errors.Join(registry.Register(c.Read), registry.Register(c.Written))
}
