// Metrics of a member.

package cluster

import (
	"errors"
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
	"github.com/trefoildb/trefoil/internal/cluster/backfill"
	"github.com/trefoildb/trefoil/internal/cluster/changes"
	"github.com/trefoildb/trefoil/internal/cluster/leader"
	"github.com/trefoildb/trefoil/internal/cluster/writes"
	"github.com/trefoildb/trefoil/internal/replica/batchlog"
	"github.com/trefoildb/trefoil/recovery"
)

// RegisterMetrics registers the metrics of the machine's store and of its part in a cluster. The
// latter has none while the node is alone. They are read on each collection, from this node's own
// state.
func (n *Node) RegisterMetrics(r prometheus.Registerer) error {
	return errors.Join(n.store.RegisterMetrics(r), r.Register(newCollector(n)))
}

// collector implements [prometheus.Collector].
type collector struct {
	node    *Node
	all     []metric
	members *prometheus.Desc
	phase   *prometheus.Desc
}

type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*reading) float64
}

// reading holds values read once a collection.
type reading struct {
	status   api.Status
	writes   writes.Stats
	batches  int
	backfill backfill.Progress
	lease    float64
	scrub    api.Scrub
	tombs    int64
	log      batchlog.Stats
	oldest   float64 // age in seconds of the oldest batch in the log
	readers  changes.Stats
	columns  int64 // bytes
	stale    int   // predicates
}

var memberStates = []string{"up", "spare", "leaving", "down", "excluded"}

func newCollector(n *Node) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("trefoil_cluster_"+name, help, labels, nil)
	}
	// 1. Metrics with labels are collected by themselves.
	c := &collector{
		node:    n,
		members: desc("members", "Members by state, and machines that were excluded and did not come back; which are down only the leader knows.", "state"),
		phase:   desc("phase", "1 for the phase of the adopted view.", "phase"),
	}
	add := func(kind prometheus.ValueType, name, help string, value func(*reading) float64) {
		c.all = append(c.all, metric{desc(name, help), kind, value})
	}
	gauge := func(name, help string, value func(*reading) float64) { add(prometheus.GaugeValue, name, help, value) }
	count := func(name, help string, value func(*reading) int64) {
		add(prometheus.CounterValue, name, help, func(r *reading) float64 { return float64(value(r)) })
	}
	// 2. The view, the lease and the backfill.
	gauge("generation", "Grows when a lost majority is replaced.", func(r *reading) float64 { return float64(r.status.Generation) })
	gauge("epoch", "The number of the adopted view.", func(r *reading) float64 { return float64(r.status.Epoch) })
	gauge("leads", "1 where this node leads.", func(*reading) float64 { return ofBool(n.agreement().IsLeader()) })
	gauge("cut_off", "1 where this node has neither lease nor leader: it answers nothing, or reads alone if it is one of two.", func(*reading) float64 { return ofBool(n.isIsolated()) })
	gauge("lease_seconds", "How long this node's lease lasts.", func(r *reading) float64 { return r.lease })
	gauge("segments", "Segments of the ordered space.", func(r *reading) float64 { return float64(r.status.Segments) })
	gauge("segments_rebuilding", "Segments of which copies are being made.", func(r *reading) float64 { return float64(r.status.Rebuilding) })
	gauge("lost_ranges", "Ranges of which rows may be gone for good.", func(r *reading) float64 { return float64(r.status.Lost) })
	gauge("walk_rows", "Rows that this machine's walk has looked at.", func(r *reading) float64 { return float64(r.backfill.Rows) })
	gauge("walk_repaired_rows", "Rows that it has written or sent.", func(r *reading) float64 { return float64(r.backfill.Repaired) })
	gauge("walk_left_rows", "Rows that are left to look at, about.", func(r *reading) float64 { return float64(r.backfill.Left) })
	add(prometheus.CounterValue, "walk_paused_seconds_total", "Time for which work on copies has given way to requests.", func(*reading) float64 { return n.throttle.Total().Seconds() })
	gauge("unsettled_batches", "Batches that this machine does not know to be settled.", func(r *reading) float64 { return float64(r.batches) })

	// 3. Writes.
	count("operations_total", "Operations stamped here.", func(r *reading) int64 { return r.writes.Operations })
	count("operations_unchanged_total", "Operations that changed nothing.", func(r *reading) int64 { return r.writes.Unchanged })
	count("operations_refused_total", "Operations refused here.", func(r *reading) int64 { return r.writes.Refused })
	count("operations_settled_total", "Operations settled here.", func(r *reading) int64 { return r.writes.Settled })
	count("operations_redriven_total", "Operations sent anew because the view changed.", func(r *reading) int64 { return r.writes.Redriven })
	count("operations_handed_over_total", "Operations of other sequencers, driven here.", func(r *reading) int64 { return r.writes.HandedOver })
	count("operations_coordinated_total", "Operations of this node's clients that are done.", func(r *reading) int64 { return r.writes.Coordinated })
	count("batches_total", "Batches of operations stamped here.", func(r *reading) int64 { return r.writes.Batches })
	count("batches_settled_total", "Batches settled here.", func(r *reading) int64 { return r.writes.SettledBatches })
	count("deliveries_retried_total", "Messages to holders that failed.", func(r *reading) int64 { return r.writes.Retries })
	add(prometheus.CounterValue, "settle_seconds_total", "Time that settled batches took.", func(r *reading) float64 { return r.writes.SettleTime.Seconds() })
	gauge("in_flight_bytes", "Bytes of operations on their way.", func(r *reading) float64 { return float64(r.writes.InFlightBytes) })
	gauge("in_flight_batches", "Batches on their way.", func(r *reading) float64 { return float64(r.writes.InFlight) })
	gauge("slow_holders", "Members that this node waits for for too long.", func(*reading) float64 { return float64(len(n.writes.Slow(leader.SlowAfter(n.cfg.Lease)))) })
	gauge("unanswered_seconds", "How long the slowest holder has owed an answer.", slowest)

	// 4. Upkeep.
	gauge("tombstones", "Tombstones of this machine that are to be purged, about.", func(r *reading) float64 { return float64(r.tombs) })
	count("purges_total", "Purges that this node has led.", func(*reading) int64 { return n.upkeep.Purges() })
	count("tombstones_purged_total", "Tombstones purged on this machine.", func(*reading) int64 { return n.upkeep.Purged() })
	count("scrubs_total", "Scrubs that this node has led.", func(r *reading) int64 { return r.scrub.Passes })
	count("scrub_differences_total", "Triples whose copies were not the same.", func(r *reading) int64 { return r.scrub.Differences })
	count("scrub_repaired_total", "Triples whose copies were made the same.", func(r *reading) int64 { return r.scrub.Repaired })
	gauge("scrub_left", "What the last scrub found and did not repair.", func(r *reading) float64 { return float64(r.scrub.Left) })
	gauge("scrub_age_seconds", "Time since this node has led a scrub to its end; infinite if it has not.", func(r *reading) float64 {
		if r.scrub.Passes == 0 {
			return math.Inf(1)
		}
		return r.scrub.Age
	})
	gauge("scrub_rows", "Rows that the last scrub compared.", func(r *reading) float64 { return float64(r.scrub.Rows) })
	gauge("scrub_seconds", "Time that the last scrub took.", func(r *reading) float64 { return r.scrub.Seconds })

	// 5. The change feed.
	gauge("feed_bytes", "Bytes of operations that this machine keeps for the change feed, before compression.", func(r *reading) float64 { return float64(r.log.Bytes) })
	gauge("feed_epochs", "Epochs of which this machine keeps operations.", func(r *reading) float64 { return float64(r.log.Epochs) })
	gauge("feed_oldest_seconds", "Age of the oldest operations that this machine keeps, about.", func(r *reading) float64 { return r.oldest })
	gauge("feed_readers", "Readers that follow the change feed at this node.", func(r *reading) float64 { return float64(r.readers.Readers) })
	gauge("feed_lag_seconds", "Age of the change at which the slowest of them is; 0 at the end.", func(r *reading) float64 { return r.readers.Lag.Seconds() })

	// 6. Columns.
	gauge("column_bytes", "Bytes of the cluster's columns in this node's memory; 0 if there are none.", func(r *reading) float64 { return float64(r.columns) })
	gauge("column_stale_predicates", "Predicates that are read as rows, because they changed very much since the columns were built.", func(r *reading) float64 { return float64(r.stale) })
	return c
}

func ofBool(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func slowest(r *reading) float64 {
	seconds := 0.0
	for _, since := range r.writes.Unanswered {
		seconds = max(seconds, since.Seconds())
	}
	return seconds
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	to <- c.members
	to <- c.phase
	for _, m := range c.all {
		to <- m.desc
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	n := c.node
	v := n.View()
	if v == nil || n.isAlone() || n.ctx.Err() != nil {
		return
	}
	// 1. Read everything once, because the metrics of one collection must agree.
	r := &reading{status: n.status.local(), writes: n.writes.Stats(), batches: len(n.store.InFlightBatches())}
	r.tombs, _ = n.store.Tombstones()
	r.lease = max(0, n.isolation.lease.remaining(v.Epoch, n.leaseTime()).Seconds())
	if p := n.backfill.Progress(v.Epoch); p != nil {
		r.backfill = *p
	}
	if s := n.upkeep.Status(); s != nil {
		r.scrub = *s
	}
	if r.log, r.readers = n.store.Log().Stats(), n.changes.Stats(); !r.log.Oldest.IsZero() {
		r.oldest = max(0, n.store.Log().Now().Sub(r.log.Oldest).Seconds())
	}
	if n.triples.columns != nil {
		r.columns, r.stale = n.triples.columns.cache.Size()
	}
	// 2. Send them. States and phases without a member are sent as 0.
	for _, m := range c.all {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(r))
	}
	states := map[string]int{}
	for _, m := range r.status.Members {
		states[m.State]++
	}
	states["excluded"] = len(r.status.Excluded)
	for _, state := range memberStates {
		to <- prometheus.MustNewConstMetric(c.members, prometheus.GaugeValue, float64(states[state]), state)
	}
	for p := recovery.Idle; p <= recovery.Ingest; p++ {
		to <- prometheus.MustNewConstMetric(c.phase, prometheus.GaugeValue, ofBool(p == v.Phase), p.String())
	}
}
