// Work for quiet times.

package store

import (
	"context"
	"time"

	"github.com/trefoildb/trefoil/internal/store/fault"
)

// Tidy frees the disk space of deleted rows. Unless the segments are the cluster's, it also merges
// small ones. It works in small steps. After each it calls next with the step's duration, and ends
// if next returns false. next may pause. Requests continue meanwhile.
func (s *Store) Tidy(ctx context.Context, next func(time.Duration) bool) error {
	if s.options.ReadOnly {
		return fault.Wrap("tidy", ErrReadOnly)
	}
	if err := s.db.Begin(); err != nil {
		return nil // closing
	}
	defer s.db.End()
	if err := s.db.Reclaim(ctx, s.metrics.removed(), next); err != nil {
		return fault.Wrap("reclaim space", err)
	}
	return fault.Wrap("merge segments", s.segments.Merge(s.metrics.removed(), next))
}
