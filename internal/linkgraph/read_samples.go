// Samples of lists.

package linkgraph

import (
	"context"
	"errors"
	"iter"

	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// sampler draws samples, and reads links among a set: both need the hosts of pages.
type sampler struct{ hosts *hosts }

// SampleLinks implements links.Graph and rank.Source.
func (rd *reader) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, spec sample.Spec) (l links.Lists, err error) {
	s, err := rd.router.local(ctx, cell.StoreOf(d), len(pages), ofPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return rd.sampler.sampleAll(ctx, s, d, pages, spec)
	}
	return gather(ctx, rd.router, request[uid.UID]{
		n: len(pages), of: ofPages(pages), size: pageSize,
		local: func(s *state, items []int) (links.Lists, error) {
			return rd.sampler.sampleAll(ctx, s, d, pick(pages, items), spec)
		},
		query: func(items []int) *query {
			return &query{kind: askSample, direction: d, spec: spec, pages: pick(pages, items)}
		},
		parse: parseUIDs,
	})
}

// sampleAll returns samples of the links of pages.
func (sm *sampler) sampleAll(ctx context.Context, s *state, d links.Direction, pages []uid.UID, spec sample.Spec) (l links.Lists, err error) {
	if s, err = s.with(ctx, cell.StoreOf(d), len(pages), ofPages(pages)); err != nil {
		return l, err
	}
	// 1. Each goroutine reads its spans with a reader of its own.
	lasts, hosts := s.lasts(), sm.hosts.forCall()
	l, err = rank.MakeLists(ctx, len(pages), nil, func(l *links.Lists, spans iter.Seq2[int, int]) {
		r := delta.NewReader()
		defer r.Release()
		var list []uid.UID
		// views are those of one batch.
		var views [delta.ReaderLen]*delta.View
		for from, to := range spans {
			for ; from < to; from += delta.ReaderLen {
				some := pages[from:min(to, from+delta.ReaderLen)]
				for k, u := range some {
					views[k] = s.views[findPart(lasts, u)]
				}
				r.Read(d, views[:], some)
				for k, u := range some {
					// 2. Short lists are sampled whole. A long one may have a sketch.
					if _, _, short := r.Targets(k); short || spec.Mode != sample.ModeConsistent {
						list = r.AppendLinks(list[:0], k)
						l.Items = sample.Sample(l.Items, list, u, spec, hosts)
					} else {
						l.Items, list = sm.sample(l.Items, list, s, d, u, spec, hosts)
					}
					l.End()
				}
			}
		}
	})
	// 3. Without the hosts samples by class would be wrong.
	return l, errors.Join(err, hosts.failed())
}

// sample appends the sample of a long list. list is memory for its links, which is returned.
func (sm *sampler) sample(dst, list []uid.UID, s *state, d links.Direction, page uid.UID, spec sample.Spec, hosts *foundHosts) (sampled, memory []uid.UID) {
	at := s.find(page)
	if spec.Mode == sample.ModeConsistent {
		if sampled, ok := sm.bySketch(dst, s, at, d, page, spec, hosts); ok {
			return sampled, list
		}
	}
	list = s.views[at].AppendLinks(list[:0], d, page)
	return sample.Sample(dst, list, page, spec, hosts), list
}

// bySketch appends the consistent sample of a long list with a sketch. It returns false if
// there is none, or if the sketch does not suffice.
func (sm *sampler) bySketch(dst []uid.UID, s *state, at int, d links.Direction, page uid.UID, spec sample.Spec, hosts *foundHosts) ([]uid.UID, bool) {
	tables := s.sketches[at]
	c := s.views[at].Cell()
	ord, ok := c.Ordinal(page)
	if tables == nil || !ok {
		return dst, false
	}
	sketch, ok := tables[d].Find(ord)
	if !ok {
		return dst, false
	}
	var changes sample.Changes
	if changes.Added, changes.Deleted, ok = s.views[at].Changes(d, page); !ok {
		return dst, false
	}
	if spec.Class != sample.All {
		changes.Classes = sample.ClassesOf(hosts, page)
	}
	return sketch.Sample(dst, spec.N, spec.Class, changes)
}
