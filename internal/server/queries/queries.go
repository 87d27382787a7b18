// The registry of the queries of a node: those that run, and the slow ones of the last time.

// Package queries keeps the queries, updates and streams that a node answers: [Registry.Begin] adds
// one, [Registry.Stop] cancels its context, and [Registry.End] removes it. If it was slow, it stays
// in a list of bounded length. A [Query] counts its rows and memory while it runs.
package queries

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/engine"
)

const (
	// MaxText is the greatest text in lists and logs, in bytes. A longer one is cut.
	MaxText = 1000
	// maxSlow is the number of slow queries that are kept.
	maxSlow = 100
	// idLength is the length of an ID in letters of 5 random bits.
	idLength = 12
)

// Query is a running query. Its counters may be changed while the registry is listed.
type Query struct {
	Rows, Memory atomic.Int64
	info         api.QueryInfo
	cancel       context.CancelCauseFunc
}

// Registry is safe for concurrent use.
type Registry struct {
	limit time.Duration // of slow queries; negative: none is slow

	mu      sync.Mutex
	running map[string]*Query
	slow    []api.SlowQuery // the latest are at the end
}

// New returns an empty registry. A query that takes limit or longer is slow. A negative limit means
// that none is.
func New(limit time.Duration) *Registry {
	return &Registry{limit: limit, running: map[string]*Query{}}
}

// Begin adds a query of a kind, text, user and request. The query must run in the returned context,
// and End must be called when it has ended.
func (r *Registry) Begin(ctx context.Context, info api.QueryInfo) (context.Context, *Query) {
	q := &Query{info: info}
	q.info.ID, q.info.Text, q.info.Start = rand.Text()[:idLength], cut(info.Text), time.Now()
	ctx, q.cancel = context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[q.info.ID] = q
	return ctx, q
}

// End removes a query, and reports whether it was slow. bytes and status are those of its answer.
func (r *Registry) End(q *Query, bytes int64, status int) (api.QueryInfo, bool) {
	q.cancel(nil)
	info := q.snapshot()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, info.ID)
	slow := r.limit >= 0 && time.Since(info.Start) >= r.limit
	if slow {
		if len(r.slow) == maxSlow {
			r.slow = slices.Delete(r.slow, 0, 1)
		}
		r.slow = append(r.slow, api.SlowQuery{QueryInfo: info, Bytes: bytes, Status: status})
	}
	return info, slow
}

// Stop cancels a query with [engine.ErrStopped]. It returns false if no query with this ID runs.
func (r *Registry) Stop(id string) (api.QueryInfo, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.running[id]
	if q == nil {
		return api.QueryInfo{}, false
	}
	q.cancel(engine.ErrStopped)
	return q.snapshot(), true
}

// Running returns the running queries, the oldest first. They do not name the machine.
func (r *Registry) Running() []api.RunningQuery {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]api.RunningQuery, 0, len(r.running))
	for _, q := range r.running {
		all = append(all, api.RunningQuery{QueryInfo: q.snapshot()})
	}
	slices.SortFunc(all, func(a, b api.RunningQuery) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Slow returns up to 100 slow queries that have ended, the latest first. They do not name the machine.
func (r *Registry) Slow() []api.SlowQuery {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]api.SlowQuery{}, r.slow...)
	slices.Reverse(all)
	return all
}

// snapshot returns the query with the current figures.
func (q *Query) snapshot() api.QueryInfo {
	info := q.info
	info.Milliseconds = time.Since(info.Start).Milliseconds()
	info.Rows, info.Memory = q.Rows.Load(), q.Memory.Load()
	return info
}

// Cause returns [engine.ErrStopped] instead of an error of ctx if the query was stopped.
func Cause(ctx context.Context, err error) error {
	if err != nil && errors.Is(context.Cause(ctx), engine.ErrStopped) {
		return engine.ErrStopped
	}
	return err
}

// cut returns a copy of a text up to MaxText bytes, because a slow query must not hold a long one.
func cut(text string) string {
	if len(text) <= MaxText {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:MaxText-len("...")], "") + "..."
}
