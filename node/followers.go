// The watch of a served node's followers of the change feed.

package node

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/functions"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/server"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/subscriptions"
	"github.com/trefoildb/trefoil/internal/textsearch"
)

// followers returns what follows the change feed in a run of a node. Each may be nil.
type followers struct {
	columns       []*feed.Follower
	graph         *linkgraph.Graph
	text          *textsearch.Index
	functions     *functions.Service
	subscriptions *subscriptions.Manager
}

// columnFollowers returns those of the columns of a lone store, and of the same store as a member. Each may be nil.
func columnFollowers(db *store.Store, back backend) []*feed.Follower {
	if back.node == nil {
		return nil
	}
	return []*feed.Follower{db.ColumnFollower(), back.node.ColumnFollower()}
}

// all returns the present followers, because functions come and go.
func (f *followers) all() (all []*feed.Follower) {
	if f.text != nil {
		all = append(all, f.text.Follower())
	}
	if f.graph != nil {
		all = append(all, f.graph.Follower())
	}
	for _, c := range f.columns {
		if c != nil {
			all = append(all, c)
		}
	}
	if f.subscriptions != nil {
		all = append(all, f.subscriptions.Follower())
	}
	if f.functions != nil {
		all = append(all, f.functions.Followers()...)
	}
	return all
}

// watchFollowers watches followers, and shows them in the status and in metrics. stop ends the watch.
func (s *service) watchFollowers(back backend, f *followers, api *server.Options) (stop func()) {
	if back.node == nil {
		return func() {} // a read-only store has none
	}
	w := feed.NewWatch(feed.WatchOptions{Logger: s.Logger}, f.all)
	api.Stalled, api.Collectors = w.Stalled, append(api.Collectors, followerWaits{w})
	ctx, cancel := context.WithCancel(s.ctx)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx, back.node.Feed()) })
	return func() { cancel(); running.Wait() }
}

// followerWaits implements [prometheus.Collector].
type followerWaits struct{ watch *feed.Watch }

var followerWaited = prometheus.NewDesc("trefoil_feed_follower_waited_seconds",
	"For how long changes have waited for a part of this node that follows the change feed and does not advance.", []string{"follower"}, nil)

// Describe implements [prometheus.Collector].
func (followerWaits) Describe(to chan<- *prometheus.Desc) { to <- followerWaited }

// Collect implements [prometheus.Collector].
func (c followerWaits) Collect(to chan<- prometheus.Metric) {
	for name, waited := range c.watch.Waited() {
		to <- prometheus.MustNewConstMetric(followerWaited, prometheus.GaugeValue, waited.Seconds(), name)
	}
}
