// The watch of followers: it finds those that stand still while the feed moves.

package feed

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// The default bounds of a [Watch].
const (
	watchInterval = 10 * time.Second
	watchLimit    = time.Minute
)

// Watch compares followers with the end of their feed at intervals. A follower that has not advanced for
// [WatchOptions.Limit] although changes wait for it is stalled: the watch logs a warning, wakes the requests
// that wait for it, and [Follower.Stalled] has the reason. It is safe for concurrent use.
type Watch struct {
	options   WatchOptions
	followers func() []*Follower

	mu     sync.Mutex
	waited map[string]time.Duration // by name
}

// WatchOptions are the parameters of a [Watch]. The zero value is ready to use.
type WatchOptions struct {
	Interval time.Duration // between two checks; 0 is 10 s
	Limit    time.Duration // without an advance; 0 is one minute
	Logger   *slog.Logger  // nil discards
}

// NewWatch returns a watch of the followers that a function returns at the moment of each check.
func NewWatch(o WatchOptions, followers func() []*Follower) *Watch {
	if o.Interval == 0 {
		o.Interval = watchInterval
	}
	if o.Limit == 0 {
		o.Limit = watchLimit
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Watch{options: o, followers: followers, waited: map[string]time.Duration{}}
	for _, f := range followers() {
		w.waited[f.name] = 0 // metrics have it from the start
	}
	return w
}

// Run checks the followers of a feed until ctx ends.
func (w *Watch) Run(ctx context.Context, s Source) {
	ticker := time.NewTicker(w.options.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		timed, cancel := context.WithTimeout(ctx, w.options.Interval)
		end, err := s.Position(timed)
		cancel()
		if err == nil { // without an end nothing is known: the feed itself does not answer
			w.check(time.Now(), end)
		}
	}
}

// check compares the followers with an end of the feed.
func (w *Watch) check(now time.Time, end Position) {
	all := map[string]time.Duration{} // without followers that have ended
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waited = all
	}()
	for _, f := range w.followers() {
		waited, changed := f.check(now, end, w.options.Limit)
		all[f.name] = max(all[f.name], waited) // a lone node has columns of two kinds, of which one is used
		if !changed {
			continue
		}
		if err := f.Stalled(); err != nil {
			w.options.Logger.Warn("a follower of the change feed stands still; what it keeps is not current", "follower", f.name, "error", err)
			if f.wake != nil {
				f.wake()
			}
		} else {
			w.options.Logger.Info("a follower of the change feed advances again", "follower", f.name)
		}
	}
}

// Stalled returns why followers stand still, in the order of the followers.
func (w *Watch) Stalled() (all []*StalledError) {
	for _, f := range w.followers() {
		if err := f.stalledError(); err != nil {
			all = append(all, err)
		}
	}
	return all
}

// Waited returns for how long changes have waited for each follower that does not advance, by its name.
func (w *Watch) Waited() map[string]time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.waited)
}
