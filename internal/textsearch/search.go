// Searches: on this machine, or on all that hold a part of the index.

package textsearch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trefoildb/trefoil/internal/derived"
	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/internal/textindex"
	"github.com/trefoildb/trefoil/triple"
)

// searchTimeout bounds the work for one page of hits and, on a lone node, the wait for changes.
const searchTimeout = 10 * time.Second

// Request is what a search looks for.
type Request struct {
	// Query is in the language of [textindex.Parse].
	Query string
	// Predicates are the IRIs of the predicates to search; nil is all indexed ones.
	Predicates []string
	// Language, if set, is a range of language tags; "" has literals without a tag only.
	Language *string
	// Scan allows a search without an index: it reads the literals of the predicates that are not indexed yet, up to a
	// bound.
	Scan bool
	// Reader, if set, returns a reader of the graphs that a user may read. Hits are the literals that have a triple
	// there, with such predicates only. Their scores have fixed statistics, because those of all literals would reveal
	// what other graphs have: a score depends on the query and the literal only. It is called for each page of hits.
	Reader func() (store.Reader, error)
}

// Hit is a literal that a search found. Several predicates may have it.
type Hit struct {
	Literal    triple.Term
	Predicates []string
	Score      float64
}

// Search is a search that has begun. Its scores do not change, whatever is written meanwhile. It is not safe for
// concurrent use.
type Search struct {
	index   *Index
	request *textindex.Request
	at      feed.Position
	stats   textindex.Stats
	scanned []*textindex.Part // of a search without an index
	bytes   int64             // of scanned, with the literals
	reader  func() (store.Reader, error)
	// predicates are all that are searched.
	predicates []string
	visible    []Hit // of the next page, if there is a reader
	rows       int64 // the estimate
	after      *textindex.Hit
	done       bool
}

// Search begins a search that sees every change that was acknowledged before the call.
func (x *Index) Search(ctx context.Context, r Request) (*Search, error) {
	x.searches.Add(1)
	s, err := x.begun(ctx, r)
	if err != nil {
		if r.Reader != nil {
			err = bare(err)
		}
		return nil, err
	}
	s.rows = s.request.Estimate(&s.stats)
	if r.Reader != nil {
		s.stats = s.stats.Fixed()
	}
	return s, nil
}

// begun returns a search with the statistics of its words.
func (x *Index) begun(ctx context.Context, r Request) (*Search, error) {
	// 1. The request.
	query, err := textindex.Parse(r.Query)
	if err != nil {
		return nil, err
	}
	s := &Search{index: x, request: &textindex.Request{Query: query, Predicates: r.Predicates, Language: r.Language}, reader: r.Reader}
	// 2. The position, and whether the predicates are indexed there.
	waiting, cancel := x.Bound(ctx)
	defer cancel()
	if s.at, err = x.ReadPosition(waiting); err != nil {
		return nil, err
	}
	now, err := x.current(waiting, s.at)
	if err != nil {
		return nil, err
	}
	if s.predicates = r.Predicates; s.predicates == nil {
		s.predicates = now.predicates
	}
	if err := x.checkPredicates(now, r); err != nil {
		if r.Scan && errors.Is(err, ErrNotIndexed) {
			return s, s.scan(ctx)
		}
		return nil, err
	}
	// 3. The statistics.
	err = x.gather(ctx, s,
		func(ctx context.Context, now *state, set derived.Partitions) (func(), error) {
			stats, err := x.collect(ctx, now, s.request, set)
			return func() { s.stats.Add(stats) }, err
		},
		func(a *answer) { s.stats.Add(a.stats) },
		&question{kind: questionCollect})
	if r.Scan && (errors.Is(err, ErrBuilding) || errors.Is(err, ErrTooLarge)) {
		return s, s.scan(ctx)
	}
	return s, err
}

// checkPredicates returns an error if a predicate of a request is not indexed, or if none is.
func (x *Index) checkPredicates(s *state, r Request) error {
	if len(s.predicates) == 0 {
		return fmt.Errorf("%w: no predicate is indexed; trefoil text add PREDICATE makes one%s", ErrNotIndexed, scanHint(r.Predicates))
	}
	for _, p := range r.Predicates {
		if !slices.Contains(s.predicates, p) {
			return fmt.Errorf("%w of <%s>; trefoil text add makes one, and trefoil text list shows all%s", ErrNotIndexed, p, scanHint(r.Predicates))
		}
	}
	return nil
}

// scanHint returns what an error adds for a search that could be a scan.
func scanHint(predicates []string) string {
	if len(predicates) == 0 {
		return ""
	}
	return ". To search without one, allow a scan: scan=true of /search, text:scan true in SPARQL"
}

// Next returns the next hits, up to limit, the best first, each with all of its predicates. There are fewer if their
// literals take some MiB. At the end it returns none.
func (s *Search) Next(ctx context.Context, limit int) ([]Hit, error) {
	if s.reader != nil {
		return s.nextVisible(ctx, limit)
	}
	return s.nextHits(ctx, limit)
}

// nextHits is Next for the literals of all graphs.
func (s *Search) nextHits(ctx context.Context, limit int) ([]Hit, error) {
	var list []Hit
	bytes := 0
	for !s.done {
		hits, err := s.next(ctx, limit+1) // the one behind the last shows that this has no other predicate
		if err != nil {
			return nil, err
		}
		if len(hits) == 0 {
			s.done = true
			break
		}
		for i := range hits {
			h := &hits[i]
			literal, err := triple.DecodeTerm(h.Key)
			if err != nil {
				return nil, err
			}
			// A literal of several predicates is one hit. Their documents are neighbours, because they have the same
			// words.
			switch n := len(list); {
			case n > 0 && list[n-1].Literal == literal:
				list[n-1].Predicates = append(list[n-1].Predicates, h.Predicate)
			case n == limit, bytes >= textindex.PageBytes:
				return list, nil
			default:
				bytes += len(h.Key)
				list = append(list, Hit{literal, []string{h.Predicate}, h.Score})
			}
			s.after = h
		}
	}
	return list, nil
}

// next returns the next hits, one for each predicate.
func (s *Search) next(ctx context.Context, limit int) ([]textindex.Hit, error) {
	// 1. Without an index.
	x := s.index
	if s.scanned != nil {
		a := x.analyzers.Get().(*textindex.Analyzer)
		defer x.analyzers.Put(a)
		return textindex.Search(a, s.request, &s.stats, s.scanned, limit, s.after, func() error { return context.Cause(ctx) })
	}
	// 2. The first hits of all machines.
	var hits []textindex.Hit
	var ends []textindex.Hit // lists that may go on
	add := func(list []textindex.Hit, cut bool) {
		hits = append(hits, list...)
		if cut && len(list) > 0 {
			ends = append(ends, list[len(list)-1])
		}
	}
	q := &question{kind: questionSearch, limit: limit, stats: s.stats}
	if s.after != nil {
		q.behind, q.after = true, *s.after
	}
	err := x.gather(ctx, s,
		func(ctx context.Context, now *state, set derived.Partitions) (func(), error) {
			list, err := x.search(ctx, now, s.request, &s.stats, set, limit, s.after)
			return func() { add(list, textindex.Cut(list, limit)) }, err
		},
		func(a *answer) { add(a.hits, a.cut) }, q)
	if err != nil {
		return nil, err
	}
	s.request = s.request.Forget()
	// 3. They are known up to the first end of a list that may go on.
	slices.SortFunc(hits, func(a, b textindex.Hit) int { return a.Compare(&b) })
	n := min(len(hits), limit)
	for i := range ends {
		n = min(n, 1+slices.IndexFunc(hits, func(h textindex.Hit) bool { return h.Compare(&ends[i]) == 0 }))
	}
	return hits[:n], nil
}

// Restart returns the search from its first hit, with the same scores.
func (s *Search) Restart() *Search {
	other := *s
	other.after, other.visible, other.done = nil, nil, false
	return &other
}

// Snippet returns the part of a hit's literal with the most words of the query.
func (s *Search) Snippet(h *Hit) string {
	a := s.index.analyzers.Get().(*textindex.Analyzer)
	defer s.index.analyzers.Put(a)
	return textindex.Snippet(a, s.request.Query, h.Literal.Value(), h.Literal.Lang())
}

// Predicates returns all predicates that are searched.
func (s *Search) Predicates() []string { return s.predicates }

// ScannedBytes returns the memory of a search without an index; 0 if the search uses the index.
func (s *Search) ScannedBytes() int64 { return s.bytes }

// Estimate returns about how many literals the search finds.
func (s *Search) Estimate() int64 { return s.rows }

// current returns a state with all changes up to a position.
func (x *Index) current(ctx context.Context, at feed.Position) (*state, error) {
	ctx, cancel := x.Bound(ctx)
	defer cancel()
	for tries := 0; ; tries++ {
		l, _ := x.wanted()
		if s := x.state.Load(); s != nil && s.layout == l && s.at.Reaches(at) {
			return s, nil
		}
		// 1. Have the changes read. A follower that stands still would not get further either.
		if err := x.follower.Stalled(); err != nil {
			return nil, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
		// A search must not apply a commit within its own timeout: a large one takes longer, its state is published at its
		// end, and so the next search would begin it again.
		_, err := x.following.Do(ctx, x.Member, func(ctx context.Context) (struct{}, error) { return struct{}{}, x.follow(ctx) })
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			return nil, x.timeoutError(ctx, err)
		}
		if s := x.state.Load(); s != nil && s.layout == l && s.at.Reaches(at) {
			return s, nil
		}
		// 2. The feed is not there yet, because a member is silent.
		if x.WaitFor(x.Node.View(), derived.Backoff(tries), ctx.Done()); ctx.Err() != nil {
			return nil, x.timeoutError(ctx, context.Cause(ctx))
		}
	}
}

// timeoutError returns the error of a search that has waited for too long.
func (x *Index) timeoutError(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("%w: the text index does not have all changes in time: %w", store.ErrUnavailable, err)
	}
	return err
}

// holds reports whether some partitions of the predicates of a request are complete.
func (s *state) holds(r *textindex.Request, set derived.Partitions) bool {
	return set&^s.heldOf(r) == 0
}

// heldOf returns the complete partitions of the predicates of a request.
func (s *state) heldOf(r *textindex.Request) derived.Partitions {
	if r.Predicates == nil {
		return s.completePartitions()
	}
	all := s.layout.all()
	for _, p := range r.Predicates {
		all &= s.complete[p]
	}
	return all
}

// partsOf returns the parts of some partitions.
func (s *state) partsOf(set derived.Partitions) (list []*textindex.Part) {
	for _, p := range s.parts {
		if set.Has(p.partition()) {
			list = append(list, p.Part)
		}
	}
	return list
}

// collect counts what a request needs of some partitions of this machine.
func (x *Index) collect(ctx context.Context, s *state, r *textindex.Request, set derived.Partitions) (textindex.Stats, error) {
	a := x.analyzers.Get().(*textindex.Analyzer)
	defer x.analyzers.Put(a)
	stats, err := textindex.Collect(a, r, s.partsOf(set), func() error { return context.Cause(ctx) })
	return stats, x.damaged(err)
}

// search searches some partitions of this machine.
func (x *Index) search(ctx context.Context, s *state, r *textindex.Request, stats *textindex.Stats, set derived.Partitions, limit int, after *textindex.Hit) ([]textindex.Hit, error) {
	a := x.analyzers.Get().(*textindex.Analyzer)
	defer x.analyzers.Put(a)
	hits, err := textindex.Search(a, r, stats, s.partsOf(set), limit, after, func() error { return context.Cause(ctx) })
	return hits, x.damaged(err)
}

// damaged makes the index be built again if an error says that it is damaged.
func (x *Index) damaged(err error) error {
	if !errors.Is(err, textindex.ErrDamaged) {
		return err
	}
	x.Log.Error("the text index is damaged, and built again", "error", err)
	x.Running.Go(func() {
		unlock, err := x.changing.Lock(x.Context)
		if err != nil {
			return
		}
		defer unlock()
		if s := x.state.Load(); s != nil {
			next := s.clone()
			next.drop(func(string, int) bool { return true })
			x.publish(next)
			x.waking.Send()
		}
	})
	return fmt.Errorf("%w, because it was damaged (%s)", ErrBuilding, strings.TrimPrefix(err.Error(), textindex.ErrDamaged.Error()+": "))
}

// building returns the error of a search while partitions are missing, and has them built soon.
func (x *Index) building() error {
	x.waking.Send()
	if f := x.failure.Load(); f != nil {
		if errors.Is(*f, ErrTooLarge) {
			return *f
		}
		return fmt.Errorf("%w, and not ready: %w", ErrBuilding, *f)
	}
	return fmt.Errorf("%w; try again, or allow a scan: scan=true of /search, text:scan true in SPARQL", ErrBuilding)
}
