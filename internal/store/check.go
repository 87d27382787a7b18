// The verification of a store.

package store

import (
	"context"

	"github.com/trefoildb/trefoil/internal/store/check"
	"github.com/trefoildb/trefoil/internal/store/fault"
)

// Check verifies a snapshot of the store; see package check.
func (s *Store) Check(ctx context.Context) (check.Report, error) {
	sn, err := s.Snapshot()
	if err != nil {
		return check.Report{}, fault.Wrap("check", err)
	}
	defer sn.Close()
	_, isMember := s.Identity()
	report, err := check.Run(ctx, s.db, sn.pebble, s.segments.Layout(), isMember)
	return report, fault.Wrap("check", err)
}
