// The type Snapshot: the methods for readers of the cluster.

package reads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
	"github.com/trefoildb/trefoil/triple"
)

// Snapshot reads the triples of the cluster, at one tick if that can be: see the package
// comment for its consistency. It holds nothing open between reads. It is safe for concurrent
// use.
type Snapshot struct {
	// Columns returns the columns of the cluster for a query that begins now; nil if there are none. It
	// may be nil itself.
	Columns  func(ctx context.Context) *columns.View
	reads    *Reads
	closed   *atomic.Bool
	degraded *atomic.Bool
	moment   *moment
	lostToo  bool
	wait     bool // see Waiting
}

// Snapshot returns a snapshot of the cluster.
func (r *Reads) Snapshot() (*Snapshot, error) {
	return &Snapshot{reads: r, closed: new(atomic.Bool), degraded: new(atomic.Bool), moment: &moment{}}, nil
}

// Close ends the snapshot. If a read runs, it ends with store.ErrClosed at its next request.
func (sn *Snapshot) Close() error {
	sn.closed.Store(true)
	return nil
}

// IncludeLost returns a snapshot for ranges with lost rows. If rows of a range may be lost, it
// returns the rest of them, instead of store.ErrLost.
func (sn *Snapshot) IncludeLost() *Snapshot {
	all := *sn
	all.lostToo, all.Columns = true, nil
	return &all
}

// Waiting returns a snapshot whose reads wait for operations in flight on what they read. A change that depends
// on what it reads must use it: an operation whose client has given up may be committed later, and would come
// back over the change.
func (sn *Snapshot) Waiting() *Snapshot {
	w := *sn
	w.wait = true
	return &w
}

// OneState returns a snapshot whose rows are all as of one tick. A read that cannot be as of that of rows before fails
// with [store.ErrSnapshotTooOld], and waits for a tick as long as for a machine that is down. From the call of release
// on, it is as of a later moment instead. In a cluster of two, and while it grows from two, there are no ticks (see
// [ticks.Ticks.Now]), and each answer is as of a moment of its own.
func (sn *Snapshot) OneState() (one *Snapshot, release func()) {
	one = &Snapshot{}
	*one = *sn
	one.moment = &moment{oneState: true}
	return one, one.moment.release
}

// Position returns false, because the rows are not of one moment.
func (sn *Snapshot) Position() (store.Position, bool, error) { return store.Position{}, false, nil }

// Degraded reports whether rows came from another order, because the owner of the requested one was
// down. The answers are complete nevertheless.
func (sn *Snapshot) Degraded() bool { return sn.degraded.Load() }

// begin checks if a read may begin, and waits until there is a view.
func (sn *Snapshot) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if sn.closed.Load() {
		return fmt.Errorf("read a snapshot: %w", store.ErrClosed)
	}
	return sn.reads.hasView(ctx)
}

// hasView waits until this machine has a view. Right after its start it has none.
func (r *Reads) hasView(ctx context.Context) error {
	if r.member.View() != nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, r.options.IdleTimeout)
	defer cancel()
	if err := r.member.Newer(wait, nil); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%w: this machine has no view of the cluster yet: %w", store.ErrUnavailable, err))
	}
	return nil
}

// Match returns the rows of pattern p, in its best order (see [triple.Pattern.Best]). An error
// ends the answer.
func (sn *Snapshot) Match(ctx context.Context, p triple.Pattern, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		r, f, err := answers(p)
		if err != nil {
			yield(store.Row{}, err)
			return
		}
		sn.read(ctx, r, o, f, nil, yield)
	}
}

// answers returns the best range for p, and its filter, nil if all rows of the range match.
func answers(p triple.Pattern) (triple.Range, *filter, error) {
	scan, err := p.Scan(p.Best())
	if err != nil || scan.Exact {
		return scan.Range, nil, err
	}
	return scan.Range, filterOf(p), nil
}

// Range returns the rows within b, in its order. An error ends the answer. It is
// [triple.ErrBadBounds] if no order can answer b.
func (sn *Snapshot) Range(ctx context.Context, b triple.Bounds, o store.ReadOptions) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		kr, err := b.KeyRange()
		if err != nil {
			yield(store.Row{}, err)
			return
		}
		sn.read(ctx, kr.Range, o, nil, accepts(&kr), yield)
	}
}

// accepts returns a function to select rows. It reports whether a row of the range belongs to the
// answer; it is nil if all do.
func accepts(kr *triple.KeyRange) func(key, value []byte) (bool, error) {
	if kr.Exact() {
		return nil
	}
	return func(key, value []byte) (bool, error) {
		_, terms, err := triple.SplitKey(key)
		if err != nil {
			return false, err
		}
		return kr.Accept(terms, value)
	}
}

// read yields the rows of a range in the filter and accept. Owners apply the filter; this machine
// applies accept.
func (sn *Snapshot) read(ctx context.Context, r triple.Range, o store.ReadOptions, f *filter, accept func(key, value []byte) (bool, error), yield func(store.Row, error) bool) {
	if err := o.Check(); err != nil {
		yield(store.Row{}, err)
		return
	}
	if o.After != nil {
		r = rangeAfter(r, o.After, o.Reverse)
	}
	if o.DefaultGraph {
		f = f.inDefaultGraph()
	}
	// 1. With annotations: read the rows without them, and look their annotations up in groups.
	if o.Annotations {
		a := &annotator{snapshot: sn, yield: yield, limit: o.Limit}
		o.Annotations, o.Limit = false, 0 // rows of triples deleted in between do not count
		ended := false
		sn.read(ctx, r, o, f, accept, func(row store.Row, err error) bool {
			if err == nil {
				ended = !a.add(ctx, row)
			} else if ended = true; a.flush(ctx) {
				yield(store.Row{}, err)
			}
			return !ended
		})
		if !ended {
			a.flush(ctx)
		}
		return
	}
	// 2. Without: scan. Owners may only skip and limit rows if this machine drops none of them.
	var s *scan
	var err error
	if accept == nil {
		s, err = sn.scanBehind(ctx, r, o.Reverse, f, o.Offset, o.Limit)
		o.Offset = 0
	} else {
		s, err = sn.scan(ctx, r, o.Reverse, f, 0)
	}
	if err != nil {
		yield(store.Row{}, err)
		return
	}
	defer s.Close()
	// A row must pass accept before it counts for the offset and the limit.
	for left := o.Limit; s.Next(); {
		key, value := s.Row()
		if accept != nil {
			ok, err := accept(key, value)
			if err != nil {
				yield(store.Row{}, fmt.Errorf("read: %w: %w", store.ErrCorrupt, err))
				return
			}
			if !ok {
				continue
			}
		}
		if o.Offset > 0 {
			o.Offset--
			continue
		}
		if !yield(store.Row{Key: key, Value: value}, nil) {
			return
		}
		if left--; left == 0 {
			return
		}
	}
	if err := s.Err(); err != nil {
		yield(store.Row{}, err)
	}
}

// maxCountRanges is the most ranges of one round of a count. It bounds the messages.
const maxCountRanges = 1000

// Count returns the sum of the numbers of triples that match each pattern. Owners read all keys, and send only their
// counts. The patterns whose triples are all rows of a range are one round of requests, and each other one is its own.
func (sn *Snapshot) Count(ctx context.Context, all ...triple.Pattern) (sum int64, err error) {
	// 1. Collect the ranges without a filter, and count the others.
	var whole []triple.Range
	for _, p := range all {
		r, f, err := answers(p)
		if err != nil {
			return 0, err
		}
		if f == nil {
			whole = append(whole, r)
			continue
		}
		n, err := sn.count(ctx, []triple.Range{r}, f)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	// 2. The ranges of one round must ascend and be disjoint. Those that are not begin another round.
	slices.SortFunc(whole, func(a, b triple.Range) int { return bytes.Compare(a.Lo, b.Lo) })
	for len(whole) > 0 {
		var round, rest []triple.Range
		for _, r := range whole {
			if last := len(round) - 1; len(round) == maxCountRanges || last >= 0 && (round[last].Hi == nil || bytes.Compare(r.Lo, round[last].Hi) < 0) {
				rest = append(rest, r)
			} else {
				round = append(round, r)
			}
		}
		n, err := sn.count(ctx, round, nil)
		if err != nil {
			return 0, err
		}
		sum, whole = sum+n, rest
	}
	return sum, nil
}

// CountRange returns how many triples are within b. If no range of keys is exactly b, owners must
// send the rows.
func (sn *Snapshot) CountRange(ctx context.Context, b triple.Bounds) (n int64, err error) {
	kr, err := b.KeyRange()
	if err != nil {
		return 0, err
	}
	if kr.Exact() {
		return sn.count(ctx, []triple.Range{kr.Range}, nil)
	}
	for _, err := range sn.Range(ctx, b, store.ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Estimate returns about how many triples match p (see [replica.Snapshot.Estimate]). If exact is
// true, it is the count.
func (sn *Snapshot) Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error) {
	r, f, err := answers(p)
	if err != nil {
		return 0, false, err
	}
	return sn.estimate(ctx, r, f, exactRows)
}

// estimate returns about how many rows of r pass a filter.
func (sn *Snapshot) estimate(ctx context.Context, r triple.Range, f *filter, most int64) (int64, bool, error) {
	found, err := sn.survey(ctx, []source.Question{{Range: r}}, f, most)
	if err != nil {
		return 0, false, err
	}
	return found[0].Rows, found[0].Exact, nil
}

// Has reports whether t exists in its graph.
func (sn *Snapshot) Has(ctx context.Context, t triple.Triple) (bool, error) {
	key, _ := triple.AppendKey(nil, triple.SPO, t)
	one := triple.Range{Lo: key, Hi: append(key[:len(key):len(key)], 0)}
	err := sn.lookup(ctx, []triple.Range{one}, nil, func(row) error { return errStop })
	if errors.Is(err, errStop) {
		return true, nil
	}
	return false, err
}

// Source returns the snapshot as queries of package sparql read it.
func (sn *Snapshot) Source() sparql.Source { return sparqlSource{sn} }

type sparqlSource struct{ snapshot *Snapshot }

// Columns implements [columns.Source].
func (s sparqlSource) Columns(ctx context.Context) *columns.View {
	if s.snapshot.Columns == nil || s.snapshot.closed.Load() {
		return nil
	}
	return s.snapshot.Columns(ctx)
}

// Scan iterates over the versions of a range.
func (s sparqlSource) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	rows, err := s.snapshot.scan(ctx, r, reverse, nil, 0)
	if err != nil {
		return nil, err // not rows: a nil pointer in an interface is not nil
	}
	return rows, nil
}

// Lookup calls each for the rows of ranges; these must ascend. It sends one message to each
// owner, all at the same time.
func (s sparqlSource) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	return s.snapshot.lookup(ctx, ranges, nil, func(r row) error { return each(r.index, r.key, r.value) })
}

// Count returns how many versions a range has.
func (s sparqlSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	return s.snapshot.count(ctx, []triple.Range{r}, nil)
}

// Estimate returns about how many versions a range has.
func (s sparqlSource) Estimate(ctx context.Context, r triple.Range) (rows int64, exact bool, err error) {
	return s.snapshot.estimate(ctx, r, nil, exactPlanRows)
}
