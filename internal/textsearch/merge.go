// Merging segments: small ones at once, large ones in the background.

package textsearch

import (
	"cmp"
	"context"
	"slices"

	"github.com/trefoildb/trefoil/internal/textindex"
)

const (
	// maxParts is how many segments of a place are left alone, and mergeParts how many become one at a time.
	maxParts   = 8
	mergeParts = 5
	// maxSmall is up to how many documents are merged while searches wait.
	maxSmall = 20_000
	// maxLarge is up to how many documents are merged at all.
	maxLarge = 50_000_000
)

// smallest returns the smallest of some parts that are worth a merge and have at most some documents together; nil if
// there are none.
func smallest(list []*part, most int) []*part {
	if len(list) <= maxParts {
		return nil
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *part) int { return cmp.Compare(a.Documents(), b.Documents()) })
	n, sum := 0, 0
	for n < mergeParts && sum+list[n].Documents() <= most {
		sum += list[n].Documents()
		n++
	}
	if n < 2 {
		return nil
	}
	return list[:n]
}

// merge returns one part of several, without deleted documents.
func merge(list []*part, check func() error) (*part, error) {
	parts := make([]*textindex.Part, len(list))
	for i, p := range list {
		parts[i] = p.Part
	}
	segment, err := textindex.Merge(parts, check)
	if err != nil {
		return nil, err
	}
	return &part{Part: &textindex.Part{Segment: segment}}, nil
}

func noCheck() error { return nil }

// partsAt returns the parts of a place.
func (s *state) partsAt(at place) (list []*part) {
	for _, p := range s.parts {
		if p.Predicate() == at.predicate && p.partition() == at.partition {
			list = append(list, p)
		}
	}
	return list
}

// replace puts a part in the place of others.
func (s *state) replace(old []*part, by *part) {
	s.parts = slices.DeleteFunc(s.parts, func(p *part) bool { return slices.Contains(old, p) })
	s.parts = append(s.parts, by)
}

// mergeSmall merges small parts of a place, and segments of deleted documents.
func (x *Index) mergeSmall(s *state, at place) error {
	for list := smallest(s.partsAt(at), maxSmall); list != nil; list = smallest(s.partsAt(at), maxSmall) {
		merged, err := merge(list, noCheck)
		if err != nil {
			return err
		}
		s.replace(list, merged)
	}
	for i, p := range s.parts {
		if p.Predicate() != at.predicate || p.partition() != at.partition || len(p.Gone) <= maxParts {
			continue
		}
		gone := make([]*textindex.Part, len(p.Gone))
		for k, g := range p.Gone {
			gone[k] = &textindex.Part{Segment: g}
		}
		segment, err := textindex.Merge(gone, noCheck)
		if err != nil {
			return err
		}
		other := *p.Part
		other.Gone = []*textindex.Segment{segment}
		s.parts[i] = &part{Part: &other}
	}
	return nil
}

// mergeList merges the smallest of some parts of one place while they are small.
func (x *Index) mergeList(list []*part, most int) ([]*part, error) {
	slices.SortStableFunc(list, func(a, b *part) int { return cmp.Compare(a.Documents(), b.Documents()) })
	n, sum := 0, 0
	for n < len(list) && sum+list[n].Documents() <= most {
		sum += list[n].Documents()
		n++
	}
	if n < 2 {
		return list, nil
	}
	merged, err := merge(list[:n], noCheck)
	if err != nil {
		return nil, err
	}
	return append([]*part{merged}, list[n:]...), nil
}

// mergeLarge merges parts while searches go on: too many of a place, and one with many deleted documents.
func (x *Index) mergeLarge(ctx context.Context) error {
	for {
		list := x.mergeCandidates()
		if list == nil {
			return nil
		}
		merged, err := merge(list, func() error { return context.Cause(ctx) })
		if err != nil {
			return err
		}
		if err := x.files.write(x, merged); err != nil {
			return err
		}
		unlock, err := x.changing.Lock(ctx)
		if err != nil {
			return err
		}
		s := x.state.Load().clone()
		// A part may have changed meanwhile. Then the next attempt merges it.
		same := !slices.ContainsFunc(list, func(p *part) bool { return !slices.Contains(s.parts, p) })
		if same {
			s.replace(list, merged)
			x.publish(s)
		}
		unlock()
		if !same {
			return nil
		}
	}
}

// mergeCandidates returns parts to be merged; nil if there are none.
func (x *Index) mergeCandidates() []*part {
	s := x.state.Load()
	if s == nil {
		return nil
	}
	places := map[place][]*part{}
	for _, p := range s.parts {
		if p.Documents() > maxSmall && p.Live() < p.Documents()*3/4 {
			return []*part{p}
		}
		at := place{p.Predicate(), p.partition()}
		places[at] = append(places[at], p)
	}
	for _, list := range places {
		if list := smallest(list, maxLarge); list != nil {
			return list
		}
	}
	return nil
}
