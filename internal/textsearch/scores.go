// Scores of given literals, from the machines that hold their partitions.

package textsearch

import (
	"context"
	"errors"
	"fmt"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/triple"
)

// Bounds of the keys of one question. A longer key has a question of its own.
const (
	maxKeys     = 4096
	maxKeyBytes = 4 << 20
)

// Scores returns the score of each of some literals in their encoded form, 0 if the search does not find it. The time
// depends on the number of literals rather than of hits.
func (s *Search) Scores(ctx context.Context, literals [][]byte) ([]float64, error) {
	scores := make([]float64, 0, len(literals))
	for len(literals) > 0 {
		n, bytes := 1, len(literals[0])
		for n < min(len(literals), maxKeys) && bytes+len(literals[n]) <= maxKeyBytes {
			bytes += len(literals[n])
			n++
		}
		list, err := s.scores(ctx, literals[:n])
		if err == nil && s.reader != nil {
			err = s.hideScores(ctx, literals[:n], list)
		}
		if err != nil {
			if s.reader != nil {
				err = bare(err)
			}
			return nil, err
		}
		scores, literals = append(scores, list...), literals[n:]
	}
	return scores, nil
}

// maxHiddenRanges bounds the ranges of rows that hideScores looks up at a time.
const maxHiddenRanges = 1024

// hideScores sets the scores of literals without a visible row to 0.
func (s *Search) hideScores(ctx context.Context, keys [][]byte, scores []float64) error {
	client := ctx
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	// 1. What has a score may have any of the searched predicates.
	predicates := s.predicates
	var found []Hit
	var places []int
	// 2. Keep the scores of the visible ones.
	look := func() error {
		if len(found) == 0 {
			return nil
		}
		visible, err := s.filter(ctx, found)
		if errors.Is(err, context.DeadlineExceeded) && client.Err() == nil {
			return fmt.Errorf("%w: more than %s; name a predicate", ErrTooSlow, searchTimeout)
		}
		if err != nil {
			return err
		}
		kept := make(map[triple.Term]bool, len(visible))
		for i := range visible {
			kept[visible[i].Literal] = true
		}
		for i := range found {
			if !kept[found[i].Literal] {
				scores[places[i]] = 0
			}
		}
		found, places = found[:0], places[:0]
		return nil
	}
	// 3. Some literals at a time.
	for i, key := range keys {
		if scores[i] == 0 {
			continue
		}
		literal, err := triple.DecodeTerm(key)
		if err != nil {
			return err
		}
		found, places = append(found, Hit{literal, predicates, scores[i]}), append(places, i)
		if len(found)*len(predicates) >= maxHiddenRanges {
			if err := look(); err != nil {
				return err
			}
		}
	}
	return look()
}

// scores returns the scores of the literals of one question.
func (s *Search) scores(ctx context.Context, keys [][]byte) ([]float64, error) {
	x := s.index
	if s.scanned != nil {
		a := x.analyzers.Get().(*textindex.Analyzer)
		defer x.analyzers.Put(a)
		return textindex.Scores(a, s.request, &s.stats, s.scanned, keys, func() error { return context.Cause(ctx) })
	}
	scores := make([]float64, len(keys))
	add := func(places []int, list []float64) {
		for i, place := range places {
			scores[place] = list[i]
		}
	}
	q := &question{kind: questionScores, stats: s.stats, keys: keys}
	err := x.gather(ctx, s,
		func(ctx context.Context, now *state, set derived.Partitions) (func(), error) {
			mine, places := keysOf(now.layout, keys, set)
			list, err := x.scores(ctx, now, s.request, &s.stats, set, mine)
			return func() { add(places, list) }, err
		},
		func(a *answer) { add(a.places, a.scores) }, q)
	return scores, err
}

// partitions returns the partitions that a question needs: all, or those of its keys.
func (q *question) partitions(l layout) (set derived.Partitions) {
	if q.kind != questionScores {
		return l.all()
	}
	for _, key := range q.keys {
		set = set.With(l.partitionOf(textindex.Hash(key)))
	}
	return set
}

// keysOf returns the keys whose documents are in some partitions, and their places in the list.
func keysOf(l layout, keys [][]byte, set derived.Partitions) (list [][]byte, places []int) {
	for i, key := range keys {
		if set.Has(l.partitionOf(textindex.Hash(key))) {
			list, places = append(list, key), append(places, i)
		}
	}
	return list, places
}

// scores returns the scores of documents in some partitions of this machine.
func (x *Index) scores(ctx context.Context, s *state, r *textindex.Request, stats *textindex.Stats, set derived.Partitions, keys [][]byte) ([]float64, error) {
	a := x.analyzers.Get().(*textindex.Analyzer)
	defer x.analyzers.Put(a)
	scores, err := textindex.Scores(a, r, stats, s.partsOf(set), keys, func() error { return context.Cause(ctx) })
	return scores, x.damaged(err)
}
