package node

import (
	"context"

	"github.com/trefoildb/trefoil/triple"
)

// CheckReport is what [Store.Check] found.
type CheckReport struct {
	Rows        map[triple.Order]int64
	Triples     int64
	Annotations int64
	Problems    []Problem
}

// Problem is one thing that is not as it must be.
type Problem struct {
	Order   triple.Order
	Triple  string
	Message string
}

// Check verifies the store.
func (s *Store) Check(ctx context.Context) (CheckReport, error) {
	return CheckReport{}, nil
}
