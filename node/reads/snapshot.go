package reads

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/trefoildb/trefoil/node"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/sparql/exec"
	"github.com/trefoildb/trefoil/triple"
)

// Snapshot reads the triples of the cluster. It is no state of one moment: see
// the package comment for what its answers are of. It holds nothing open between
// reads. It may be used by several goroutines.
type Snapshot struct {
	reads    *Reads
	closed   *atomic.Bool
	degraded *atomic.Bool
	lostToo  bool
}

// Snapshot returns a snapshot of the cluster.
func (r *Reads) Snapshot() (*Snapshot, error) {
	return &Snapshot{reads: r, closed: new(atomic.Bool), degraded: new(atomic.Bool)}, nil
}

// Close ends the snapshot: reads that go on end with node.ErrClosed when they ask
// the next machine.
func (sn *Snapshot) Close() error {
	sn.closed.Store(true)
	return nil
}

// IncludeLost returns the same snapshot, which gives what is left of ranges of
// which rows may be gone for good, instead of node.ErrLost.
func (sn *Snapshot) IncludeLost() *Snapshot {
	all := *sn
	all.lostToo = true
	return &all
}

// Degraded reports whether something that was read came from other orders than the
// one that was asked, since the machine that has it is dead. It is complete all
// the same.
func (sn *Snapshot) Degraded() bool { return sn.degraded.Load() }

func (sn *Snapshot) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if sn.closed.Load() {
		return fmt.Errorf("read a snapshot: %w", node.ErrClosed)
	}
	return sn.reads.hasView(ctx)
}

// hasView waits until this machine has a view: one that has just started has none.
func (r *Reads) hasView(ctx context.Context) error {
	if r.cluster.View() != nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, r.options.Patience)
	defer cancel()
	if err := r.cluster.Newer(wait, nil); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("%w: this machine has no view of the cluster yet: %w", node.ErrUnavailable, err))
	}
	return nil
}

// Match returns the versions that match p, in the order that answers it best (see
// [triple.Pattern.Best]). An error ends the answer.
func (sn *Snapshot) Match(ctx context.Context, p triple.Pattern, o node.ReadOptions) iter.Seq2[node.Row, error] {
	return func(yield func(node.Row, error) bool) {
		r, f, err := answers(p)
		if err != nil {
			yield(node.Row{}, err)
			return
		}
		sn.read(ctx, r, o, f, nil, yield)
	}
}

// answers returns the range that answers p best, and the filter that it needs;
// nil where all of it matches.
func answers(p triple.Pattern) (triple.Range, *filter, error) {
	scan, err := p.Scan(p.Best())
	if err != nil || scan.Exact {
		return scan.Range, nil, err
	}
	return scan.Range, filterOf(p), nil
}

// Range returns the versions that b asks for, in its order. An error ends the
// answer; it is [triple.ErrBadBounds] where b asks what no order answers.
func (sn *Snapshot) Range(ctx context.Context, b triple.Bounds, o node.ReadOptions) iter.Seq2[node.Row, error] {
	return func(yield func(node.Row, error) bool) {
		kr, err := b.KeyRange()
		if err != nil {
			yield(node.Row{}, err)
			return
		}
		sn.read(ctx, kr.Range, o, nil, accepts(&kr), yield)
	}
}

// accepts returns what tells which rows of a range belong to the answer; nil
// where all do.
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

// read yields the rows of a range that pass the filter, which their owners know,
// and accept, which they do not.
func (sn *Snapshot) read(ctx context.Context, r triple.Range, o node.ReadOptions, f *filter, accept func(key, value []byte) (bool, error), yield func(node.Row, error) bool) {
	if o.Limit < 0 {
		yield(node.Row{}, fmt.Errorf("%w: the limit is %d", node.ErrInvalid, o.Limit))
		return
	}
	if o.After != nil {
		r = behind(r, o.After, o.Reverse)
	}
	if o.Annotations {
		a := &annotator{snapshot: sn, yield: yield, limit: o.Limit}
		o.Annotations, o.Limit = false, 0 // rows of triples that are deleted meanwhile do not count
		ended := false
		sn.read(ctx, r, o, f, accept, func(row node.Row, err error) bool {
			if err == nil {
				ended = !a.add(ctx, row)
			} else if ended = true; a.flush(ctx) {
				yield(node.Row{}, err)
			}
			return !ended
		})
		if !ended {
			a.flush(ctx)
		}
		return
	}
	limit := o.Limit
	if accept != nil {
		limit = 0
	}
	s, err := sn.scan(ctx, r, o.Reverse, f, limit)
	if err != nil {
		yield(node.Row{}, err)
		return
	}
	defer s.Close()
	for left := o.Limit; s.Next(); {
		if accept != nil {
			ok, err := accept(s.Key(), s.Value())
			if err != nil {
				yield(node.Row{}, fmt.Errorf("read: %w: %w", node.ErrCorrupt, err))
				return
			}
			if !ok {
				continue
			}
		}
		if !yield(node.Row{Key: s.Key(), Value: s.Value()}, nil) {
			return
		}
		if left--; left == 0 {
			return
		}
	}
	if err := s.Err(); err != nil {
		yield(node.Row{}, err)
	}
}

// Count returns how many triples match p. Owners read all of their keys; rows do
// not travel.
func (sn *Snapshot) Count(ctx context.Context, p triple.Pattern) (int64, error) {
	r, f, err := answers(p)
	if err != nil {
		return 0, err
	}
	return sn.count(ctx, r, f)
}

// CountRange returns how many triples b asks for. Rows travel where a range of
// keys cannot tell it exactly.
func (sn *Snapshot) CountRange(ctx context.Context, b triple.Bounds) (n int64, err error) {
	kr, err := b.KeyRange()
	if err != nil {
		return 0, err
	}
	if kr.Exact() {
		return sn.count(ctx, kr.Range, nil)
	}
	for _, err := range sn.Range(ctx, b, node.ReadOptions{}) {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}

// Estimate returns about how many triples match p (see [node.Snapshot.Estimate]).
// exact tells that it is the count.
func (sn *Snapshot) Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error) {
	r, f, err := answers(p)
	if err != nil {
		return 0, false, err
	}
	return sn.estimate(ctx, r, f, exactRows)
}

// estimate returns about how many rows of r pass a filter.
func (sn *Snapshot) estimate(ctx context.Context, r triple.Range, f *filter, most int64) (int64, bool, error) {
	found, err := sn.survey(ctx, []exec.Question{{Range: r}}, f, most)
	if err != nil {
		return 0, false, err
	}
	return found[0].Rows, found[0].Exact, nil
}

// Has reports whether t is there, in its graph.
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
func (sn *Snapshot) Source() sparql.Source { return source{sn} }

type source struct{ snapshot *Snapshot }

// Scan iterates over the versions of a range.
func (s source) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	rows, err := s.snapshot.scan(ctx, r, reverse, nil, 0)
	if err != nil {
		return nil, err // not rows: a nil pointer in an interface is not nil
	}
	return rows, nil
}

// Lookup calls each for the versions of ranges that ascend: one message to each
// owner, all at the same time.
func (s source) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	return s.snapshot.lookup(ctx, ranges, nil, func(r row) error { return each(r.index, r.key, r.value) })
}

// Count returns how many versions a range has.
func (s source) Count(ctx context.Context, r triple.Range) (int64, error) {
	return s.snapshot.count(ctx, r, nil)
}

// Estimate returns about how many versions a range has.
func (s source) Estimate(ctx context.Context, r triple.Range) (rows int64, exact bool, err error) {
	return s.snapshot.estimate(ctx, r, nil, exactPlanRows)
}
