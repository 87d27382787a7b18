// The metrics of a store.

package store

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trefoildb/trefoil/internal/api"
)

// metrics counts the store's work. Its zero value counts from zero.
type metrics struct {
	groups   atomic.Int64
	requests atomic.Int64
	bytes    atomic.Int64
	added    atomic.Int64
	deleted  atomic.Int64
	loaded   atomic.Int64
	refused  atomic.Int64
	nanos    atomic.Int64
	dropped  atomic.Int64 // rows, and ranges of them, that the cluster does not need here
}

// removed returns about how many rows were removed since the store was opened.
func (m *metrics) removed() int64 { return m.deleted.Load() + m.dropped.Load() }

// committed counts a group.
func (m *metrics) committed(group []*request, size int64, took time.Duration) {
	m.groups.Add(1)
	m.requests.Add(int64(len(group)))
	m.bytes.Add(size)
	m.nanos.Add(int64(took))
	for _, r := range group {
		switch {
		case r.err != nil:
			m.refused.Add(1)
		case r.kind == KindAdd:
			m.added.Add(r.changed)
		case r.kind == KindDelete:
			m.deleted.Add(r.changed)
		case r.kind.changes():
			m.added.Add(r.changed)
			m.deleted.Add(r.removed)
		}
	}
}

// RegisterMetrics registers the store's metrics. They are read when they are collected.
func (s *Store) RegisterMetrics(reg prometheus.Registerer) error {
	return reg.Register(newCollector(s))
}

// collector implements [prometheus.Collector].
type collector struct {
	store *Store
	all   []metric
}

type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(reading) float64
}

// reading is the values that one collection reads once.
type reading struct {
	store      *Store
	status     api.Status
	memTable   float64
	wal        float64
	readAmp    float64
	hits, miss float64
	debt       float64
}

func newCollector(s *Store) *collector {
	c := &collector{store: s}
	// Every metric has a function that reads its value, because values must be current at each
	// collection. It comes from memory or from the reading.
	add := func(name, help string, kind prometheus.ValueType, value func(reading) float64) {
		c.all = append(c.all, metric{prometheus.NewDesc("trefoil_store_"+name, help, nil, nil), kind, value})
	}
	counter := func(name, help string, n *atomic.Int64) {
		add(name, help, prometheus.CounterValue, func(reading) float64 { return float64(n.Load()) })
	}
	gauge := func(name, help string, value func(reading) float64) {
		add(name, help, prometheus.GaugeValue, value)
	}
	m := &s.metrics
	counter("commits_total", "Groups of writes committed, each with one fsync.", &m.groups)
	counter("writes_total", "Writes that were answered.", &m.requests)
	counter("write_bytes_total", "Bytes of keys and values in these writes.", &m.bytes)
	counter("triples_added_total", "Triples added, bulk loads aside.", &m.added)
	counter("triples_deleted_total", "Triples deleted.", &m.deleted)
	counter("triples_loaded_total", "Triples added by bulk loads.", &m.loaded)
	counter("writes_refused_total", "Writes answered with an error.", &m.refused)
	counter("write_stalls_total", "Times that writes waited for flushes or compactions.", &s.db.Counts.Stalls)
	counter("segment_splits_total", "Segments split.", &s.segments.Splits)
	counter("segment_merges_total", "Neighbouring segments merged because they shrank.", &s.segments.Merges)
	counter("reclaims_total", "Ranges of tables compacted in quiet times because of deleted rows.", &s.db.Counts.Reclaims)
	counter("reclaimed_bytes_total", "Bytes of tables that these compactions gave back.", &s.db.Counts.Reclaimed)
	counter("corruptions_total", "Reads that met a damaged table or row.", &s.db.Counts.Corruptions)
	add("commit_seconds_total", "Time spent in commits.", prometheus.CounterValue,
		func(reading) float64 { return time.Duration(m.nanos.Load()).Seconds() })
	gauge("triples", "Triples in the store.", func(r reading) float64 { return float64(r.status.Triples) })
	gauge("annotations", "Annotations in the store.", func(r reading) float64 { return float64(r.status.Annotations) })
	gauge("segments", "Segments of the key space.", func(r reading) float64 { return float64(r.status.Segments) })
	gauge("table_bytes", "Bytes of tables on the disk.", func(r reading) float64 { return float64(r.status.Bytes) })
	gauge("feed_bytes", "Bytes of changes that the change feed keeps, before compression.", func(r reading) float64 {
		kept, _ := r.store.feed.Size()
		return float64(kept)
	})
	gauge("column_bytes", "Bytes of the columns in memory; 0 if there are none.", func(r reading) float64 {
		bytes, _ := r.store.columnSize()
		return float64(bytes)
	})
	gauge("column_stale_predicates", "Predicates that are read as rows, because they changed very much since the columns were built.", func(r reading) float64 {
		_, stale := r.store.columnSize()
		return float64(stale)
	})
	gauge("disk_free_bytes", "Free bytes of the disk; NaN if unknown.", func(r reading) float64 {
		if r.status.FreeBytes < 0 {
			return math.NaN() // any number would be a forecast
		}
		return float64(r.status.FreeBytes)
	})
	gauge("memtable_bytes", "Bytes of rows in memory.", func(r reading) float64 { return r.memTable })
	gauge("wal_bytes", "Bytes of the write-ahead log.", func(r reading) float64 { return r.wal })
	gauge("read_amplification", "Tables and memory areas that a read looks into.", func(r reading) float64 { return r.readAmp })
	gauge("compaction_debt_bytes", "Bytes that are to be compacted.", func(r reading) float64 { return r.debt })
	add("cache_hits_total", "Blocks found in the cache.", prometheus.CounterValue, func(r reading) float64 { return r.hits })
	add("cache_misses_total", "Blocks not found in the cache.", prometheus.CounterValue, func(r reading) float64 { return r.miss })
	gauge("writable", "1 where writes are taken, 0 where they are refused.", func(r reading) float64 {
		return ofBool(r.status.Error == "" && !r.status.ReadOnly)
	})
	gauge("read_only", "1 where writes are refused because an operator wants it so.", func(r reading) float64 { return ofBool(r.status.ReadOnly) })
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range c.all {
		to <- m.desc
	}
}

// Collect implements [prometheus.Collector]. A closed store has no values.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	s := c.store
	if err := s.db.Begin(); err != nil {
		return
	}
	defer s.db.End()
	pebble := s.db.Metrics()
	r := reading{
		store:    s,
		status:   s.Status(),
		memTable: float64(pebble.MemTable.Size),
		wal:      float64(pebble.WAL.Size),
		readAmp:  float64(pebble.ReadAmp()),
		hits:     float64(pebble.BlockCache.Hits),
		miss:     float64(pebble.BlockCache.Misses),
		debt:     float64(pebble.Compact.EstimatedDebt),
	}
	for _, m := range c.all {
		to <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(r))
	}
}

func ofBool(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
