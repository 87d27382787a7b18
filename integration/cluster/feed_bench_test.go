// What the change feed costs the writes of a cluster.

package cluster

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster"
	"github.com/trefoildb/trefoil/internal/replica"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/store/changefeed"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/triple"
)

// BenchmarkFeedWrites adds durable batches to two clusters of three machines in this process, on disk
// and over loopback, one after the other. One keeps its batches as the log of the feed. The other one
// deletes batches soon after their commit, as before there was a feed: it keeps 4 MiB, so rows are
// deleted in memtables. With a byte, a range deletion for each batch would slow it down. It ends in
// less than a minute:
//
//	go test -run - -bench FeedWrites -benchtime 1x ./integration/cluster
func BenchmarkFeedWrites(b *testing.B) {
	const pairs, warm, most = 15, 2, 30 * time.Second
	// 1. Form both clusters.
	kept := threeMachines(b, changefeed.Retention{})
	deleted := threeMachines(b, changefeed.Retention{Bytes: 4 << 20})
	for b.Loop() {
		var rates [2][]float64
		var ratios []float64
		// 2. Add to both in turn. The first pairs are not counted.
		began := time.Now()
		for pair := 0; pair < pairs+warm && time.Since(began) < most; pair++ {
			var rate [2]float64
			for turn := range 2 {
				i := (turn + pair) % 2
				rate[i] = addBatches(b, [2][]*cluster.Node{kept, deleted}[i], pair)
			}
			if pair < warm {
				continue
			}
			for i := range rates {
				rates[i] = append(rates[i], rate[i])
			}
			ratios = append(ratios, rate[0]/rate[1])
		}
		// 3. Medians of all pairs.
		b.Logf("triples/s with the log %.0f, without %.0f", rates[0], rates[1])
		b.ReportMetric(median(rates[0]), "kept-triples/s")
		b.ReportMetric(median(rates[1]), "deleted-triples/s")
		b.ReportMetric(100*(1-median(ratios)), "%-loss")
	}
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}

// threeMachines starts a cluster, and waits until it has formed.
func threeMachines(b *testing.B, r changefeed.Retention) (nodes []*cluster.Node) {
	b.Helper()
	for range 3 {
		s, err := replica.Open(b.TempDir(), store.Options{MinFreeBytes: -1, FeedRetention: r}, replica.Options{})
		if err != nil {
			b.Fatal(err)
		}
		cfg := cluster.Config{Store: s, Listen: "127.0.0.1:0", Lease: 10 * time.Second, PurgeEvery: -1, ScrubEvery: -1}
		if len(nodes) > 0 {
			cfg.Join = []string{nodes[0].Address()}
		}
		n, err := cluster.Start(b.Context(), cfg)
		if err != nil {
			b.Fatal(errors.Join(err, s.Close()))
		}
		if err := n.AwaitJoined(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := errors.Join(n.Close(), s.Close()); err != nil {
				b.Error(err)
			}
		})
		nodes = append(nodes, n)
	}
	for _, n := range nodes {
		for {
			changed := n.Changed()
			if v := n.View(); v != nil && len(v.Members) == len(nodes) && v.Phase == recovery.Idle {
				break
			}
			select {
			case <-changed:
			case <-time.After(20 * time.Second):
				b.Fatal("the cluster has not formed")
			}
		}
	}
	return nodes
}

// addBatches adds batches of 1,000 triples, two at a time at each node, and returns how many triples
// are added a second.
func addBatches(b *testing.B, nodes []*cluster.Node, round int) float64 {
	const writers, batches, size = 2, 6, 1000
	var running sync.WaitGroup
	began := time.Now()
	for i, n := range nodes {
		for w := range writers {
			running.Go(func() {
				for batch := range batches {
					some := make([]triple.Triple, size)
					for j := range some {
						id := (((round*len(nodes)+i)*writers+w)*batches+batch)*size + j
						some[j] = triple.Triple{
							Subject:   triple.NewIRI(fmt.Sprintf("http://example.org/subject/%d", id)),
							Predicate: triple.NewIRI(fmt.Sprintf("http://example.org/predicate/%d", j%10)),
							Object:    triple.NewString(fmt.Sprint(id)),
						}
					}
					if _, err := store.Add(b.Context(), n, some); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	running.Wait()
	return float64(len(nodes)*writers*batches*size) / time.Since(began).Seconds()
}
