// The columns of a lone store, see package columncache.

package store

import (
	"context"

	"github.com/trefoildb/trefoil/internal/feed"
	"github.com/trefoildb/trefoil/internal/store/columncache"
	"github.com/trefoildb/trefoil/sparql/columns"
	"github.com/trefoildb/trefoil/sparql/source"
)

// openColumns begins to build the columns, if they are on.
func (s *Store) openColumns() {
	if s.options.ColumnBytes <= 0 || s.member.alone() != nil {
		return
	}
	s.columns = columncache.New(columncache.Options{
		Memory: s.options.ColumnBytes, Feed: s.feed, Snapshot: s.columnRows, Triples: s.countTriples, Logger: s.options.Logger, File: s.ColumnFile(),
	})
	s.columns.Build()
}

// countTriples returns the number of triples.
func (s *Store) countTriples() int64 {
	counted, err := s.db.Counters()
	if err != nil {
		return 0 // the build meets the error
	}
	return counted.Triples
}

// columnRows returns the rows of a snapshot for a build.
func (s *Store) columnRows(ctx context.Context) (source.Source, feed.Position, func() error, error) {
	if err := s.member.alone(); err != nil {
		return nil, feed.Position{}, nil, err
	}
	sn, err := s.Snapshot()
	if err != nil {
		return nil, feed.Position{}, nil, err
	}
	at, err := sn.position()
	if err != nil {
		_ = sn.Close() // the error that matters is err
		return nil, at, nil, err
	}
	return sn.Source(), at, sn.Close, nil
}

// columnSize returns the bytes of the columns, and how many predicates are stale.
func (s *Store) columnSize() (bytes int64, stale int) {
	if s.columns == nil {
		return 0, 0
	}
	return s.columns.Size()
}

// Columns returns the columns of the snapshot. A member of a cluster has none, because its feed does
// not have all changes.
func (s sparqlSource) Columns(ctx context.Context) *columns.View {
	store := s.snapshot.store
	if store.columns == nil || store.member.alone() != nil || s.snapshot.closed.Load() {
		return nil
	}
	at, err := s.snapshot.position()
	if err != nil {
		return nil // queries read rows, and meet the error there
	}
	return store.columns.View(ctx, at)
}

// ColumnFollower returns the follower of the change feed that keeps the columns current; nil if they are off.
func (s *Store) ColumnFollower() *feed.Follower {
	if s.columns == nil {
		return nil
	}
	return s.columns.Follower()
}
