// Samples of lists.

package read

import (
	"context"
	"errors"
	"iter"

	"github.com/trefoildb/trefoil/internal/linkgraph/pagerows"
	"github.com/trefoildb/trefoil/internal/linkgraph/route"
	"github.com/trefoildb/trefoil/internal/linkgraph/state"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/cell"
	"github.com/trefoildb/trefoil/links/delta"
	"github.com/trefoildb/trefoil/links/rank"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// SamplesPiece returns samples of the links of a prefix of pages with at most most links, or of one
// page.
func (sm *Sampler) SamplesPiece(ctx context.Context, s *state.State, q *route.Query, most int) (l links.Lists, err error) {
	for pages := q.Pages; len(pages) > 0; {
		// The pages must fit even if each sample is full.
		n := max(q.Spec.N, 1)
		n = min((most-len(l.Items))/n, len(pages))
		if n == 0 {
			if l.Len() > 0 {
				break
			}
			n = 1
		}
		some, err := sm.sampleAll(ctx, s, q.Direction, pages[:n], q.Spec)
		if err != nil {
			return l, err
		}
		for i := range some.Len() {
			l.Items = append(l.Items, some.At(i)...)
			l.End()
		}
		pages = pages[n:]
	}
	return l, nil
}

// Sampler draws samples, and reads links among a set: both need the hosts of pages.
type Sampler struct{ Hosts *pagerows.Hosts }

// SampleLinks implements links.Graph and rank.Source.
func (rd *Reader) SampleLinks(ctx context.Context, d links.Direction, pages []uid.UID, spec sample.Spec) (l links.Lists, err error) {
	s, err := rd.Router.Local(ctx, cell.StoreOf(d), len(pages), state.OfPages(pages))
	if err != nil {
		return l, err
	}
	if s != nil {
		return rd.Sampler.sampleAll(ctx, s, d, pages, spec)
	}
	return route.Gather(ctx, rd.Router, route.Request[uid.UID]{
		N: len(pages), Of: state.OfPages(pages), Size: route.PageSize,
		Local: func(s *state.State, items []int) (links.Lists, error) {
			return rd.Sampler.sampleAll(ctx, s, d, route.Pick(pages, items), spec)
		},
		Query: func(items []int) *route.Query {
			return &route.Query{Kind: route.QuerySample, Direction: d, Spec: spec, Pages: route.Pick(pages, items)}
		},
		Parse: route.ParseUIDs,
	})
}

// sampleAll returns samples of the links of pages.
func (sm *Sampler) sampleAll(ctx context.Context, s *state.State, d links.Direction, pages []uid.UID, spec sample.Spec) (l links.Lists, err error) {
	if s, err = s.With(ctx, cell.StoreOf(d), len(pages), state.OfPages(pages)); err != nil {
		return l, err
	}
	// 1. Each goroutine reads its spans with a reader of its own.
	lasts, hosts := s.Lasts(), sm.Hosts.ForCall()
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
					views[k] = s.Views[state.FindPart(lasts, u)]
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
	return l, errors.Join(err, hosts.Failed())
}

// sample appends the sample of a long list. list is memory for its links, which is returned.
func (sm *Sampler) sample(dst, list []uid.UID, s *state.State, d links.Direction, page uid.UID, spec sample.Spec, hosts *pagerows.FoundHosts) (sampled, memory []uid.UID) {
	at := s.Find(page)
	if spec.Mode == sample.ModeConsistent {
		if sampled, ok := sm.bySketch(dst, s, at, d, page, spec, hosts); ok {
			return sampled, list
		}
	}
	list = s.Views[at].AppendLinks(list[:0], d, page)
	return sample.Sample(dst, list, page, spec, hosts), list
}

// bySketch appends the consistent sample of a long list with a sketch. It returns false if
// there is none, or if the sketch does not suffice.
func (sm *Sampler) bySketch(dst []uid.UID, s *state.State, at int, d links.Direction, page uid.UID, spec sample.Spec, hosts *pagerows.FoundHosts) ([]uid.UID, bool) {
	tables := s.Sketches[at]
	c := s.Views[at].Cell()
	ord, ok := c.Ordinal(page)
	if tables == nil || !ok {
		return dst, false
	}
	sketch, ok := tables[d].Find(ord)
	if !ok {
		return dst, false
	}
	var changes sample.Changes
	if changes.Added, changes.Deleted, ok = s.Views[at].Changes(d, page); !ok {
		return dst, false
	}
	if spec.Class != sample.All {
		changes.Classes = sample.ClassesOf(hosts, page)
	}
	return sketch.Sample(dst, spec.N, spec.Class, changes)
}
