// Metrics of an index.

package textsearch

import "github.com/prometheus/client_golang/prometheus"

var (
	documentsMetric = prometheus.NewDesc("trefoil_text_documents", "Literals in the text index of this machine, by predicate.", []string{"predicate"}, nil)
	bytesMetric     = prometheus.NewDesc("trefoil_text_bytes", "Memory of the text index of this machine.", nil, nil)
	segmentsMetric  = prometheus.NewDesc("trefoil_text_segments", "Segments of the text index of this machine.", nil, nil)
	searchesMetric  = prometheus.NewDesc("trefoil_text_searches_total", "Searches that began at this machine.", nil, nil)
	buildsMetric    = prometheus.NewDesc("trefoil_text_builds_total", "Builds of the text index of a predicate on this machine.", nil, nil)
	behindMetric    = prometheus.NewDesc("trefoil_text_behind", "1 if the last attempt to bring the text index up to date has failed.", nil, nil)
)

// Describe implements [prometheus.Collector].
func (x *Index) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{documentsMetric, bytesMetric, segmentsMetric, searchesMetric, buildsMetric, behindMetric} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (x *Index) Collect(out chan<- prometheus.Metric) {
	var bytes int64
	var segments int
	documents := map[string]int{}
	if s := x.state.Load(); s != nil {
		bytes, segments = s.bytes(), len(s.parts)
		for _, p := range s.parts {
			documents[p.Predicate()] += p.Live()
		}
	}
	behind := 0.0
	if x.failure.Load() != nil {
		behind = 1
	}
	for p, n := range documents {
		out <- prometheus.MustNewConstMetric(documentsMetric, prometheus.GaugeValue, float64(n), p)
	}
	out <- prometheus.MustNewConstMetric(bytesMetric, prometheus.GaugeValue, float64(bytes))
	out <- prometheus.MustNewConstMetric(segmentsMetric, prometheus.GaugeValue, float64(segments))
	out <- prometheus.MustNewConstMetric(searchesMetric, prometheus.CounterValue, float64(x.searches.Load()))
	out <- prometheus.MustNewConstMetric(buildsMetric, prometheus.CounterValue, float64(x.builds.Load()))
	out <- prometheus.MustNewConstMetric(behindMetric, prometheus.GaugeValue, behind)
}
