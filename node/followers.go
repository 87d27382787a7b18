// The watch of a served node's followers of the change feed.

package node

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/linkgraph"
	"github.com/trefoildb/trefoil/internal/textsearch"
)

// watchFollowers watches the text index and the graph of links, of which each may be nil. stop ends the watch.
func (s *service) watchFollowers(back backend, graph *linkgraph.Graph, text *textsearch.Index) (c prometheus.Collector, stop func()) {
	var all []*feed.Follower
	if text != nil {
		all = append(all, text.Follower())
	}
	if graph != nil {
		all = append(all, graph.Follower())
	}
	w := feed.NewWatch(feed.WatchOptions{Logger: s.Logger}, all...)
	if len(all) == 0 {
		return followerWaits{w}, func() {}
	}
	ctx, cancel := context.WithCancel(s.ctx)
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx, back.node.Feed()) })
	return followerWaits{w}, func() { cancel(); running.Wait() }
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
