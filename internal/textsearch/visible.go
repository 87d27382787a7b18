// Searches of users who may read some graphs only.

package textsearch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// maxVisiblePage bounds the hits whose rows are looked up at a time.
	maxVisiblePage = 1024
	// maxSurplus is how many rows of a literal are read although one was visible, before the look-up begins anew behind them.
	maxSurplus = 256
)

// errSurplus ends a look-up that reads rows of a literal that is visible.
var errSurplus = errors.New("the rows of a visible literal")

// nextVisible is Next for a search with readers. It reads more hits of all graphs until it has enough visible ones.
func (s *Search) nextVisible(ctx context.Context, limit int) ([]Hit, error) {
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	found := 0
	for n := min(limit, maxVisiblePage); len(s.visible) < limit && found < textindex.PageBytes && !s.done; n = min(2*n, maxVisiblePage) {
		// 1. The next page of all graphs.
		hits, err := s.nextHits(ctx, n)
		// 2. Those that are visible.
		if err == nil {
			hits, err = s.filter(ctx, hits)
		}
		if errors.Is(err, context.DeadlineExceeded) && client.Err() == nil {
			return nil, fmt.Errorf("%w: more than %s; write more of its words, or name a predicate", ErrTooSlow, searchTimeout)
		}
		if err != nil {
			return nil, bare(err)
		}
		s.visible = append(s.visible, hits...)
		for i := range hits {
			found += len(hits[i].Literal.Value())
		}
	}
	// 3. The rest stays for the next call.
	n := min(limit, len(s.visible))
	list := s.visible[:n:n]
	s.visible = s.visible[n:]
	return list, nil
}

// filter returns the hits with a visible row, with the predicates of such rows only.
func (s *Search) filter(ctx context.Context, hits []Hit) (list []Hit, err error) {
	// 1. The ranges of the rows, in the order of keys.
	type requested struct {
		r              triple.Range
		hit, predicate int
	}
	var all []requested
	for i := range hits {
		for j, p := range hits[i].Predicates {
			keys, err := triple.Bounds{Order: triple.POS, Prefix: []triple.Term{triple.NewIRI(p), hits[i].Literal}}.KeyRange()
			if err != nil {
				return nil, err
			}
			all = append(all, requested{keys.Range, i, j})
		}
	}
	slices.SortFunc(all, func(a, b requested) int {
		return cmp.Or(bytes.Compare(a.r.Lo, b.r.Lo), cmp.Compare(a.hit, b.hit))
	})
	ranges := make([]triple.Range, len(all))
	for i := range all {
		ranges[i] = all[i].r
	}
	// 2. Which of them have one.
	r, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	seen := make([]bool, len(all))
	for from := 0; from < len(all); {
		last, surplus := 0, 0
		err := r.Source().Lookup(ctx, ranges[from:], func(i int, _, _ []byte) error {
			if i != last {
				last, surplus = i, 0
			}
			seen[from+i] = true
			if surplus++; surplus > maxSurplus {
				return errSurplus
			}
			return nil
		})
		if err == nil {
			break
		}
		if !errors.Is(err, errSurplus) {
			return nil, err
		}
		from += last + 1
	}
	// 3. Keep these.
	kept := make([][]string, len(hits))
	for i, a := range all {
		if seen[i] {
			kept[a.hit] = append(kept[a.hit], hits[a.hit].Predicates[a.predicate])
		}
	}
	for i := range hits {
		if len(kept[i]) > 0 {
			list = append(list, Hit{hits[i].Literal, kept[i], hits[i].Score})
		}
	}
	return list, nil
}

// bare returns an error without figures, because they are of all graphs.
func bare(err error) error {
	switch {
	case errors.Is(err, ErrTooLarge):
		return fmt.Errorf("%w; an operator may raise --text-memory", ErrTooLarge)
	case errors.Is(err, ErrBuilding):
		return fmt.Errorf("%w; try again", ErrBuilding)
	}
	return err
}

// readerOf returns the reader of a scan.
func (s *Search) readerOf() (store.Reader, error) {
	if s.reader != nil {
		return s.reader()
	}
	return s.index.Node.Reader()
}
