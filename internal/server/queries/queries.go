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

// Info describes a query. Its JSON form is part of the API.
type Info struct {
	// ID is random: no other query of the cluster has it, nor one of an earlier process of the node. A stop that is
	// sent late or twice therefore stops no other query.
	ID   string `json:"id"`
	Kind string `json:"kind"` // query, update or read
	// Text is the query, the update, or the path and parameters of the read. A long one is cut and
	// ends with "...".
	Text    string    `json:"text"`
	User    string    `json:"user"`
	Request string    `json:"request"` // the ID of its request
	Start   time.Time `json:"start"`
	// Of the time of the list, or of the query's end.
	Milliseconds int64 `json:"milliseconds"`
	Rows         int64 `json:"rows"`   // sent; the changes of an update, when it ends
	Memory       int64 `json:"memory"` // bytes that it holds, or held last
}

// Slow is a query that took longer than the limit.
type Slow struct {
	Info
	Bytes  int64 `json:"bytes"`  // of the answer as sent
	Status int   `json:"status"` // of HTTP
}

// End returns when the query ended.
func (s *Slow) End() time.Time { return s.Start.Add(time.Duration(s.Milliseconds) * time.Millisecond) }

// Query is a running query. Its counters may be changed while the registry is listed.
type Query struct {
	Rows, Memory atomic.Int64
	info         Info
	cancel       context.CancelCauseFunc
}

// Registry is safe for concurrent use.
type Registry struct {
	limit time.Duration // of slow queries; negative: none is slow

	mu      sync.Mutex
	running map[string]*Query
	slow    []Slow // the latest are at the end
}

// New returns an empty registry. A query that takes limit or longer is slow. A negative limit means
// that none is.
func New(limit time.Duration) *Registry {
	return &Registry{limit: limit, running: map[string]*Query{}}
}

// Begin adds a query of a kind, text, user and request. The query must run in the returned context,
// and End must be called when it has ended.
func (r *Registry) Begin(ctx context.Context, info Info) (context.Context, *Query) {
	q := &Query{info: info}
	q.info.ID, q.info.Text, q.info.Start = rand.Text()[:idLength], cut(info.Text), time.Now()
	ctx, q.cancel = context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[q.info.ID] = q
	return ctx, q
}

// End removes a query, and reports whether it was slow. bytes and status are those of its answer.
func (r *Registry) End(q *Query, bytes int64, status int) (Info, bool) {
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
		r.slow = append(r.slow, Slow{info, bytes, status})
	}
	return info, slow
}

// Stop cancels a query with [engine.ErrStopped]. It returns false if no query with this ID runs.
func (r *Registry) Stop(id string) (Info, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	q := r.running[id]
	if q == nil {
		return Info{}, false
	}
	q.cancel(engine.ErrStopped)
	return q.snapshot(), true
}

// Running returns the running queries, the oldest first.
func (r *Registry) Running() []Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Info, 0, len(r.running))
	for _, q := range r.running {
		all = append(all, q.snapshot())
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID)) })
	return all
}

// Slow returns up to 100 slow queries that have ended, the latest first.
func (r *Registry) Slow() []Slow {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append([]Slow{}, r.slow...)
	slices.Reverse(all)
	return all
}

// snapshot returns the query with the current figures.
func (q *Query) snapshot() Info {
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
