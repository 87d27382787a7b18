// Candidates: the literals that may contain some texts, for the filters of queries.

package textsearch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/triple"
)

// candidatesTimeout bounds the wait for candidates. After it a query reads all rows, and so do others for candidatesPause,
// because the index would probably be late again.
const (
	candidatesTimeout = time.Second
	candidatesPause   = 5 * time.Second
)

// Substrings describes literals of a predicate by parts of their texts.
type Substrings struct {
	Predicate string
	Condition textindex.Condition
	// Most is the greatest number of candidates. With more, the error wraps [textindex.ErrTooMany].
	Most int
}

// errLate means that candidates came too late a moment ago.
var errLate = errors.New("the text index did not answer in time a moment ago")

// errNoCandidates means that the deletions since a reader's moment are not known one by one.
var errNoCandidates = errors.New("the text index cannot tell which literals were deleted since")

// HasTrigrams reports whether this machine's index has the trigrams of a predicate, as far as it is built.
func (x *Index) HasTrigrams(predicate string) bool {
	s := x.state.Load()
	return s != nil && s.hasTrigrams(predicate)
}

// Candidates returns, ascending and as they stand in keys, all literals that meet a condition and are objects of a
// predicate in the rows of a reader, and perhaps others. An error means that all rows must be read.
//
// On a lone node the rows are of one moment, and the index is of that or a later one. It has all literals that were added
// until then. It may lack literals that were deleted since, by rows up to the moment when its state is taken. These are read
// from the feed.
// A member's reader reads each row after the call. So a literal that the index has no more is no object at that moment.
func (x *Index) Candidates(ctx context.Context, r store.Reader, q Substrings) ([][]byte, error) {
	began := time.Now()
	if last := x.lateCandidates.Load(); last != nil && began.Sub(*last) < candidatesPause {
		return nil, errLate
	}
	short, cancel := context.WithTimeout(ctx, candidatesTimeout)
	defer cancel()
	keys, err := x.candidatesOf(short, r, q)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		x.lateCandidates.Store(&began)
	}
	return keys, err
}

// candidatesOf is Candidates without the bound of time.
func (x *Index) candidatesOf(ctx context.Context, r store.Reader, q Substrings) (keys [][]byte, err error) {
	// 1. The moment of the rows.
	at, fixed, err := r.Position()
	switch {
	case err != nil:
		return nil, err
	case !q.Condition.Selects() || !x.HasTrigrams(q.Predicate):
		return nil, textindex.ErrNoTrigrams
	case fixed != (x.Node.Lone() != nil):
		return nil, errMoved // the node has become a member
	}
	s := &Search{index: x, at: at, request: &textindex.Request{Query: &textindex.Query{}, Predicates: []string{q.Predicate}}}
	if !fixed {
		if s.at, err = x.ReadPosition(ctx); err != nil {
			return nil, err
		}
	}
	// 2. The literals of the index, at that moment or later.
	err = x.gather(ctx, s,
		func(ctx context.Context, now *state, set derived.Partitions) (func(), error) {
			list, err := x.candidates(ctx, now, q, set)
			return func() { keys = append(keys, list...) }, err
		},
		func(a *answer) { keys = append(keys, a.keys...) },
		&question{kind: questionCandidates, condition: q.Condition, limit: q.Most})
	if err != nil {
		return nil, err
	}
	// 3. Those that were deleted since.
	if fixed {
		if err := x.eachDeleted(ctx, at, q.Predicate, func(key []byte) { keys = append(keys, key) }); err != nil {
			return nil, err
		}
	}
	if len(keys) > q.Most {
		return nil, fmt.Errorf("%w: more than %d", textindex.ErrTooMany, q.Most)
	}
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal), nil
}

// eachDeleted calls yield with the literals of a predicate of which a triple was deleted between a position and now, on a
// lone node.
func (x *Index) eachDeleted(ctx context.Context, since feed.Position, predicate string, yield func(key []byte)) error {
	// 1. All rows that the index has looked into lie before this end. The feed may not be there yet, because it has only
	// what is durable.
	end, fixed, err := derived.EndOfRows(x.Node)
	if err == nil && !fixed {
		err = errMoved
	}
	if err != nil || since.Reaches(end) {
		return err
	}
	// 2. The deletions up to the end.
	request := feed.Request{Since: since, Follow: true, Positions: true, Filter: feed.Filter{
		Pattern: triple.Pattern{Predicate: triple.NewIRI(predicate)}, Kinds: []feed.Kind{feed.Delete, feed.Clear},
	}}
	n := 0
	return feed.Each(ctx, x.Node.Feed(), request, func(batch *feed.Batch) (bool, error) {
		for i := range batch.Changes {
			change := &batch.Changes[i]
			if change.Kind == feed.Clear {
				return false, errNoCandidates
			}
			_, terms, err := triple.SplitKey(change.Key)
			if err != nil {
				return false, err
			}
			if !isText(terms[triple.Object]) {
				continue
			}
			if n++; n > maxChanges {
				return false, errNoCandidates
			}
			yield(bytes.Clone(terms[triple.Object]))
		}
		return batch.Position.Reaches(end), nil
	})
}

// candidates returns the candidates of some partitions of this machine.
func (x *Index) candidates(ctx context.Context, s *state, q Substrings, set derived.Partitions) (keys [][]byte, err error) {
	if !s.hasTrigrams(q.Predicate) {
		return nil, fmt.Errorf("%w of <%s>", textindex.ErrNoTrigrams, q.Predicate)
	}
	parts := slices.DeleteFunc(s.partsOf(set), func(p *textindex.Part) bool { return p.Predicate() != q.Predicate })
	var failed error
	err = textindex.Candidates(q.Condition, parts, q.Most, func() error { return context.Cause(ctx) }, func(whole []byte) {
		// The key of a long literal has its beginning and its hash.
		term, err := triple.DecodeTerm(whole)
		if err != nil {
			failed = fmt.Errorf("%w: %w", textindex.ErrDamaged, err)
			return
		}
		key, _ := triple.AppendTerm(nil, term)
		keys = append(keys, key)
	})
	return keys, x.damaged(errors.Join(err, failed))
}

// answerCandidates answers a question for candidates. It waits for changes until waiting ends.
func (x *Index) answerCandidates(ctx, waiting context.Context, q *question) (*answer, error) {
	if len(q.predicates) != 1 {
		return nil, peer.Refuse(peer.CodeUnavailable, 0, "candidates of %d predicates", len(q.predicates))
	}
	s, err := x.current(waiting, q.at)
	if err != nil {
		return nil, err
	}
	if s.layout != partitionBits || !s.holds(&textindex.Request{Predicates: q.predicates}, q.set) {
		return nil, peer.Refuse(peer.CodeNotOwner, 0, "the machine does not hold these partitions")
	}
	a := &answer{}
	a.keys, err = x.candidates(ctx, s, Substrings{q.predicates[0], q.condition, q.limit}, q.set)
	size := 0
	for _, key := range a.keys {
		size += len(key)
	}
	if err == nil && size > maxAnswerBytes {
		err = fmt.Errorf("%w: they take %d bytes", textindex.ErrTooMany, size)
	}
	return a, err
}
