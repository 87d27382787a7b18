// Samples and degrees.

package linklists

import (
	"context"

	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/rowreader"
	"github.com/trefoildb/trefoil/links"
	"github.com/trefoildb/trefoil/links/sample"
	"github.com/trefoildb/trefoil/links/uid"
)

// MaxSampledPages is the number of pages whose samples are held beside the answer.
const MaxSampledPages = 1 << 13

// Sample appends samples of the links of pages.
func (g *Reader) Sample(ctx context.Context, r *rowreader.Reader, d links.Direction, pages []uid.UID, s sample.Spec, l *links.Lists) error {
	a := newRequest(d, wantSamples, s, pages)
	var rest []int
	var err error
	if s.N > maxSampled {
		rest, err = g.resolveURLs(ctx, r, a, a.items())
	} else {
		rest, err = g.fetchFromOwners(ctx, r, a)
	}
	if err == nil {
		err = g.sampleRest(ctx, r, a, rest)
	}
	if err != nil {
		return err
	}
	a.fillRepeated()
	for i := range pages {
		if l.Items, err = a.append(l.Items, i); err != nil {
			return err
		}
		l.End()
	}
	return nil
}

// sampleRest draws the samples that the owners did not draw.
func (g *Reader) sampleRest(ctx context.Context, r *rowreader.Reader, a *request, rest []int) error {
	pages := make([]uid.UID, len(rest))
	for i, item := range rest {
		pages[i] = a.pages[item]
	}
	return g.ForEach(ctx, r, a.d, pages, func(i int, list []uid.UID) error {
		var h Hosts
		if a.spec.Class != sample.All {
			h = Hosts{}
			if err := g.hosts.Add(ctx, r, h, pages[i:i+1]); err != nil {
				return err
			}
			if err := g.hosts.Add(ctx, r, h, list); err != nil {
				return err
			}
		}
		a.setList(rest[i], sample.Sample([]uid.UID{}, list, pages[i], a.spec, h))
		return nil
	})
}

// Degrees appends the number of links of each page.
func (g *Reader) Degrees(ctx context.Context, r *rowreader.Reader, d links.Direction, pages []uid.UID, dst []int) ([]int, error) {
	a := newRequest(d, wantDegrees, sample.Spec{}, pages)
	rest, err := g.fetchFromOwners(ctx, r, a)
	if err != nil {
		return dst, err
	}
	// If an owner did not reply, other machines may have the whole list.
	left := make([]uid.UID, len(rest))
	for i, item := range rest {
		left[i] = a.pages[item]
	}
	// The degree of a whole list is its length.
	whole := newRequest(d, wantLists, sample.Spec{}, left)
	rows, err := g.fetchFromOwners(ctx, r, whole)
	if err != nil {
		return dst, err
	}
	for i, item := range rest {
		a.replies[item].degree = whole.length(i)
	}
	// What is left is counted by rows.
	urls := make([]string, len(rows))
	for i, at := range rows {
		urls[i] = whole.urls[at]
	}
	err = g.Targets(ctx, r, d, urls, func(i int, _ []byte) error {
		a.replies[rest[rows[i]]].degree++
		return nil
	})
	if err != nil {
		return dst, err
	}
	a.fillRepeated()
	for i := range pages {
		dst = append(dst, a.replies[i].degree)
	}
	return dst, nil
}
