// The rows of a snapshot for queries.

package store

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/triple"
)

// Source returns the snapshot as a source of package sparql. It is valid until the snapshot is
// closed.
func (sn *Snapshot) Source() sparql.Source { return sparqlSource{sn} }

type sparqlSource struct{ snapshot *Snapshot }

// Scan iterates over the rows of a range.
func (s sparqlSource) Scan(ctx context.Context, r triple.Range, reverse bool) (sparql.Rows, error) {
	rows, err := s.snapshot.Rows(ctx, r)
	if err != nil {
		return nil, err
	}
	if reverse {
		return backward{rows}, nil
	}
	return rows, nil
}

// backward reads rows from the last to the first.
type backward struct{ *Rows }

func (b backward) Next() bool { return b.Prev() }

// SeekGE moves to the last row with a key of at most key.
func (b backward) SeekGE(key []byte) bool { return b.SeekLT(append(bytes.Clone(key), 0)) }

// nearRows is the maximum number of steps towards the next range before a seek. A seek takes as
// long as 10 to 25 steps. If earlier steps missed the range, fewer are tried.
const nearRows = 16

// nearTry is the number of ranges after which all steps are tried again.
const nearTry = 16

// Lookup calls each for the rows of ascending ranges, with one iterator.
func (s sparqlSource) Lookup(ctx context.Context, ranges []triple.Range, each func(i int, key, value []byte) error) error {
	for len(ranges) > 0 && ranges[len(ranges)-1].Empty() { // its end may be before the end of others
		ranges = ranges[:len(ranges)-1]
	}
	if len(ranges) == 0 {
		return ctx.Err()
	}
	rows, err := s.snapshot.Rows(ctx, triple.Range{Lo: ranges[0].Lo, Hi: ranges[len(ranges)-1].Hi})
	if err != nil {
		return err
	}
	defer rows.Close()
	// 1. Step towards the next range, and seek if it is too far. near adapts to the ranges.
	valid := rows.First()
	near := nearRows
	for i, r := range ranges {
		steps, most := 0, near
		if i%nearTry == 0 {
			most = nearRows
		}
		for valid && steps < most && bytes.Compare(rows.Key(), r.Lo) < 0 {
			valid = rows.Next()
			steps++
		}
		switch {
		case !valid:
		case bytes.Compare(rows.Key(), r.Lo) < 0:
			valid = rows.SeekGE(r.Lo)
			near = max(near-2, 0)
		case steps > 0:
			near = min(near+2, nearRows)
		}
		// 2. Visit the rows of the range.
		for ; valid && (r.Hi == nil || bytes.Compare(rows.Key(), r.Hi) < 0); valid = rows.Next() {
			if err := each(i, rows.Key(), rows.Value()); err != nil {
				return err
			}
		}
		if !valid {
			break
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return ctx.Err()
}

// Count returns how many rows a range has. It decodes none.
func (s sparqlSource) Count(ctx context.Context, r triple.Range) (int64, error) {
	n, _, _, err := s.snapshot.count(ctx, r, nil, 0)
	return n, err
}

// Estimate returns about how many rows a range has.
func (s sparqlSource) Estimate(ctx context.Context, r triple.Range) (rows int64, exact bool, err error) {
	_, seen, all, err := s.snapshot.count(ctx, r, nil, exactPlanRows)
	if err != nil || all {
		return seen, all, err
	}
	if rows, _, err = s.snapshot.estimate(keyspace.Storage, r); err != nil || rows > seen {
		return rows, false, err
	}
	// Tables have no rows of the range, because its rows are still in memory.
	_, seen, all, err = s.snapshot.count(ctx, r, nil, exactRows)
	if !all {
		seen++
	}
	return seen, all, err
}

// exactPlanRows is the number of rows up to which an estimate for a plan counts exactly. It is
// small because a plan requests dozens.
const exactPlanRows = 100
