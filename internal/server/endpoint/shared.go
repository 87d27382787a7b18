// State shared by all endpoints.

package endpoint

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/server/access"
	"github.com/trefoildb/trefoil/internal/server/idempotency"
	"github.com/trefoildb/trefoil/internal/server/limits"
	"github.com/trefoildb/trefoil/internal/server/request"
	"github.com/trefoildb/trefoil/internal/server/response"
	"github.com/trefoildb/trefoil/internal/store"
)

// Shared is the state for the endpoints of all families.
type Shared struct {
	Store     store.Triples
	Memory    *limits.Budget // of documents and pages
	Documents *request.Documents
	URL       request.PublicURL
	Changes   *access.Changes
	Keys      *idempotency.Keys
	Rows      *rows
	PageBytes int          // of a page; see response.MaxPageBytes
	Draining  *atomic.Bool // a shutdown has begun
}

// Account returns an account for the client of a request.
func (s *Shared) Account(r *request.Request) *limits.Account {
	return limits.NewAccount(s.Memory, r.Request)
}

// Reader returns a reader for an answer. The header of the answer reports if it is degraded.
func (s *Shared) Reader(w http.ResponseWriter) (store.Reader, error) {
	sn, err := s.Store.Reader()
	if err == nil {
		response.SetSource(w, sn)
	}
	return sn, err
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
