// The text index for text:matches and for the filters of queries.

package engine

import (
	"context"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textsearch"
	"github.com/trefoildb/trefoil/internal/turns"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/sparql/exec/solution"
	"github.com/trefoildb/trefoil/triple"
)

// textIndex implements [exec.TextIndex]. Each call gives the slot of its turn back, because other machines may
// compute the answer.
type textIndex struct {
	index  *textsearch.Index
	reader func() (store.Reader, error) // of the graphs that the user may read; nil if that is all
}

// Search implements [exec.TextIndex].
func (t textIndex) Search(ctx context.Context, r exec.TextRequest) (exec.TextSearch, error) {
	var s *textsearch.Search
	err := turns.Wait(ctx, func() (err error) {
		s, err = t.index.Search(turns.Detach(ctx), textsearch.Request{Query: r.Query, Predicates: r.Predicates, Language: r.Language, Scan: r.Scan, Reader: t.reader})
		return err
	})
	if err != nil {
		return nil, err
	}
	return textSearch{s}, nil
}

// textSearch implements [exec.TextSearch].
type textSearch struct{ search *textsearch.Search }

// Next implements [exec.TextSearch].
func (s textSearch) Next(ctx context.Context, n int) (list []exec.TextHit, err error) {
	err = turns.Wait(ctx, func() error {
		hits, err := s.search.Next(turns.Detach(ctx), n)
		for i := range hits {
			list = append(list, exec.TextHit{Literal: solution.Encode(hits[i].Literal), Score: hits[i].Score, Predicates: hits[i].Predicates})
		}
		return err
	})
	return list, err
}

// Scores implements [exec.TextSearch].
func (s textSearch) Scores(ctx context.Context, literals []string) (list []exec.TextHit, err error) {
	keys := make([][]byte, len(literals))
	for i, literal := range literals {
		keys[i] = solution.BytesOf(literal)
	}
	err = turns.Wait(ctx, func() error {
		scores, err := s.search.Scores(turns.Detach(ctx), keys)
		for i, score := range scores {
			if score > 0 {
				list = append(list, exec.TextHit{Literal: literals[i], Score: score, Predicates: s.search.Predicates()})
			}
		}
		return err
	})
	return list, err
}

// Restart implements [exec.TextSearch].
func (s textSearch) Restart() exec.TextSearch { return textSearch{s.search.Restart()} }

// Snippet implements [exec.TextSearch].
func (s textSearch) Snippet(h exec.TextHit) string {
	literal, err := triple.DecodeTerm(solution.BytesOf(h.Literal))
	if err != nil {
		return "" // Next has encoded it
	}
	return s.search.Snippet(&textsearch.Hit{Literal: literal})
}

// Estimate implements [exec.TextSearch].
func (s textSearch) Estimate() int64 { return s.search.Estimate() }

// ScannedBytes implements [exec.TextSearch].
func (s textSearch) ScannedBytes() int64 { return s.search.ScannedBytes() }

// literalIndex implements [exec.LiteralIndex] for the rows of a reader of all graphs. A user with some graphs reads rows. A
// plan would show how many literals of other graphs have a text, and so would the time of a query.
type literalIndex struct {
	index  *textsearch.Index
	reader func() store.Reader
}

// Indexed implements [exec.LiteralIndex].
func (l literalIndex) Indexed(predicate string) bool { return l.index.HasTrigrams(predicate) }

// Candidates implements [exec.LiteralIndex].
func (l literalIndex) Candidates(ctx context.Context, r exec.LiteralRequest) (keys [][]byte, err error) {
	err = turns.Wait(ctx, func() error {
		keys, err = l.index.Candidates(turns.Detach(ctx), l.reader(), textsearch.Substrings{Predicate: r.Predicate, Condition: r.Texts, Most: r.Most})
		return err
	})
	return keys, err
}
