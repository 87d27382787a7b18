// The readers of one member, for its metrics.

package changes

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats describes the readers of this member that follow the feed.
type Stats struct {
	Readers int
	// Lag is the age of the last change that the slowest reader has passed to its consumer, or
	// tries to pass. It is 0 if all readers are at the end.
	Lag time.Duration
}

// Stats returns the present readers.
func (f *Feed) Stats() Stats { return f.readers.stats(time.Now()) }

// readers is a set of readers that follow. The zero value is empty.
type readers struct {
	mu  sync.Mutex
	all map[*lag]struct{}
}

// lag is the time of the change at which a reader is, in unix ms; 0 if it is at the end.
type lag struct{ atomic.Int64 }

func (r *readers) add(l *lag) (remove func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*lag]struct{}{}
	}
	r.all[l] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.all, l)
	}
}

func (r *readers) stats(now time.Time) (s Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Readers = len(r.all)
	for l := range r.all {
		if at := l.Load(); at > 0 {
			s.Lag = max(s.Lag, now.Sub(time.UnixMilli(at)))
		}
	}
	return s
}
