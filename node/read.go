// Reads of a store: patterns, ranges, counts and annotations.

package node

import (
	"context"
	"iter"

	"github.com/trefoildb/trefoil/internal/prefixes"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/triple"
)

// RangeOptions are the parameters of [Store.Range].
type RangeOptions struct {
	// Reverse goes from the last triple to the first.
	Reverse bool
}

// Match yields the triples that match p, in the order of triples that answers p best. A
// term of p that is zero matches any term. The triples are those of the moment at which
// the loop begins; an error ends them.
func (s *Store) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	return s.read(func(sn *Snapshot) iter.Seq2[triple.Triple, error] { return sn.Match(ctx, p) })
}

// Range yields the triples between bounds, in their order; see [Store.Match].
func (s *Store) Range(ctx context.Context, b triple.Bounds, o RangeOptions) iter.Seq2[triple.Triple, error] {
	return s.read(func(sn *Snapshot) iter.Seq2[triple.Triple, error] { return sn.Range(ctx, b, o) })
}

// Count returns how many triples match p.
func (s *Store) Count(ctx context.Context, p triple.Pattern) (n int64, err error) {
	sn, err := s.Snapshot()
	if err != nil {
		return 0, err
	}
	defer sn.Close()
	return sn.Count(ctx, p)
}

// read yields the triples of a snapshot, which lasts as long as the loop.
func (s *Store) read(triples func(*Snapshot) iter.Seq2[triple.Triple, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		sn, err := s.Snapshot()
		if err != nil {
			yield(triple.Triple{}, err)
			return
		}
		defer sn.Close()
		triples(sn)(yield)
	}
}

// Snapshot returns the store as it is now. The caller must close it, because it keeps
// files of that moment on the disk.
func (s *Store) Snapshot() (*Snapshot, error) {
	sn, err := s.db.Snapshot()
	if err != nil {
		return nil, err
	}
	return &Snapshot{sn, prefixes.HideIn(sn)}, nil
}

// Snapshot is a read view of a store at one moment. Later changes do not show in it. Its
// methods may be called concurrently.
type Snapshot struct {
	snapshot *store.Snapshot
	rows     store.Matcher
}

// Match yields the triples that match p; see [Store.Match].
func (sn *Snapshot) Match(ctx context.Context, p triple.Pattern) iter.Seq2[triple.Triple, error] {
	return decode(sn.rows.Match(ctx, p, store.ReadOptions{}))
}

// Range yields the triples between bounds; see [Store.Range].
func (sn *Snapshot) Range(ctx context.Context, b triple.Bounds, o RangeOptions) iter.Seq2[triple.Triple, error] {
	return decode(sn.rows.Range(ctx, b, store.ReadOptions{Reverse: o.Reverse}))
}

// Count returns how many triples match p.
func (sn *Snapshot) Count(ctx context.Context, p triple.Pattern) (int64, error) {
	return sn.rows.Count(ctx, p)
}

// Has reports whether the snapshot has a triple.
func (sn *Snapshot) Has(ctx context.Context, t triple.Triple) (bool, error) {
	return sn.snapshot.Has(ctx, t)
}

// Annotations yields the annotations of a triple by the IDs of applications.
func (sn *Snapshot) Annotations(ctx context.Context, t triple.Triple) iter.Seq2[triple.ApplicationData, error] {
	return sn.snapshot.Annotations(ctx, t)
}

// Close ends the snapshot.
func (sn *Snapshot) Close() error { return sn.snapshot.Close() }

// decode yields the triples of rows.
func decode(rows iter.Seq2[store.Row, error]) iter.Seq2[triple.Triple, error] {
	return func(yield func(triple.Triple, error) bool) {
		for row, err := range rows {
			var t triple.Triple
			if err == nil {
				t, err = row.Triple()
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}
