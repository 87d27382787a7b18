// The metrics of the change feed of clusters.

package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trefoildb/trefoil/internal/feed"
)

// TestFeedMetrics: a node reports what it keeps, its readers, and how far the slowest one is behind.
func TestFeedMetrics(t *testing.T) {
	simulate(t, 3, func(t *testing.T, w *world) {
		w.form()
		m := w.any()
		begin := position(t, m)
		w.mustAdd(m, feedTriple(1, 1))
		check := func(what string, readers float64, least, most time.Duration) {
			t.Helper()
			synctest.Wait()
			v := metricsOf(t, m)
			if lag := v["trefoil_cluster_feed_lag_seconds"]; v["trefoil_cluster_feed_readers"] != readers || lag < least.Seconds() || lag > most.Seconds() {
				t.Errorf("%s: %v readers, %vs behind", what, v["trefoil_cluster_feed_readers"], lag)
			}
			if v["trefoil_cluster_feed_bytes"] < 50 || v["trefoil_cluster_feed_epochs"] < 1 || v["trefoil_cluster_feed_epochs"] > v["trefoil_cluster_epoch"] {
				t.Errorf("%s: %v bytes of %v epochs", what, v["trefoil_cluster_feed_bytes"], v["trefoil_cluster_feed_epochs"])
			}
			if old := v["trefoil_cluster_feed_oldest_seconds"]; old < least.Seconds() || old > 3600 {
				t.Errorf("%s: the oldest is %vs old", what, old)
			}
		}
		check("no reader", 0, 0, 0)
		// 1. A reader whose consumer takes its time.
		ctx, cancel := context.WithCancel(t.Context())
		read, proceed, done := make(chan int), make(chan bool), make(chan error, 1)
		go func() {
			for b, err := range m.node.Feed().Changes(ctx, feed.Request{Since: begin, Follow: true}) {
				if err != nil {
					done <- err
					return
				}
				if len(b.Changes) > 0 {
					read <- len(b.Changes)
					<-proceed
				}
			}
			done <- nil
		}()
		<-read
		time.Sleep(2 * time.Minute) // of virtual time
		check("a slow consumer", 1, 2*time.Minute, 3*time.Minute)
		// 2. At the end it is not behind, however old the last change is.
		proceed <- true
		check("at the end", 1, 0, 0)
		// 3. It has gone.
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		check("without it", 0, 0, 0)
	})
}
