// Counts and estimates of patterns and ranges.

package store

import (
	"context"

	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// Count returns the sum of the numbers of triples that match each pattern. It reads all of their keys and decodes none.
func (sn *Snapshot) Count(ctx context.Context, all ...triple.Pattern) (sum int64, err error) {
	for _, p := range all {
		scan, err := p.Scan(p.Best())
		if err != nil {
			return 0, err
		}
		n, _, _, err := sn.count(ctx, scan.Range, matches(&scan), 0)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// CountRange returns how many triples lie in b.
func (sn *Snapshot) CountRange(ctx context.Context, b triple.Bounds) (int64, error) {
	kr, err := b.KeyRange()
	if err != nil {
		return 0, err
	}
	n, _, _, err := sn.count(ctx, kr.Range, accepts(&kr), 0)
	return n, err
}

// count counts the rows of a range that pass the filter, and all rows it reads. If limit is
// positive, it ends after limit rows, and all is false.
func (sn *Snapshot) count(ctx context.Context, r triple.Range, pass filter, limit int64) (passed, seen int64, all bool, err error) {
	if r.Empty() {
		return 0, 0, true, nil
	}
	rows, err := sn.Rows(ctx, r)
	if err != nil {
		return 0, 0, false, err
	}
	defer rows.Close()
	for valid := rows.First(); valid; valid = rows.Next() {
		if limit > 0 && seen == limit {
			return passed, seen, false, nil
		}
		seen++
		if pass != nil {
			ok, err := pass(rows.Key(), rows.Value())
			if err != nil {
				return 0, 0, false, fault.Wrap("count", err)
			}
			if !ok {
				continue
			}
		}
		passed++
	}
	return passed, seen, true, rows.Err()
}

// Estimate returns about how many triples match p, within a factor of two to four. The error is
// large because tables record bytes, and some rows compress better than others. For large counts
// it is much faster than Count. exact reports whether n is exact, as it is if the range of p has
// few rows.
func (sn *Snapshot) Estimate(ctx context.Context, p triple.Pattern) (n int64, exact bool, err error) {
	scan, err := p.Scan(p.Best())
	if err != nil {
		return 0, false, err
	}
	passed, seen, all, err := sn.count(ctx, scan.Range, matches(&scan), exactRows)
	if err != nil || all {
		return passed, all, err
	}
	rows, _, err := sn.estimate(keyspace.Storage, scan.Range)
	if err != nil {
		return 0, false, err
	}
	rows = max(rows, seen+1)
	// Assume that the same share of all rows matches as of the first ones.
	return max(int64(float64(rows)*float64(passed)/float64(seen)), 1), false, nil
}

// EstimateRange returns about how many triples lie in a range, and their bytes on disk. If bytes
// are not in a table yet, they do not count.
func (sn *Snapshot) EstimateRange(r triple.Range) (rows, bytes int64, err error) {
	_, seen, all, err := sn.count(context.Background(), r, nil, exactRows)
	if err != nil {
		return 0, 0, err
	}
	rows, bytes, err = sn.estimate(keyspace.Storage, r)
	if err != nil {
		return 0, 0, err
	}
	if all {
		return seen, bytes, nil
	}
	return max(rows, seen+1), bytes, nil
}

// exactRows is the number of rows up to which an estimate counts exactly, in some 200
// microseconds.
const exactRows = 1000

// exactCopies is the number of rows of an order up to which EstimateCopies counts exactly, in some 150
// milliseconds.
const exactCopies = 1_000_000

// EstimateCopies returns about how many copies of triples the store has: rows of SPO, POS and OSP, and
// extra replicas. Of many rows, those that are not in a file yet do not count.
func (sn *Snapshot) EstimateCopies(ctx context.Context) (copies int64, err error) {
	// 1. of adds the rows of one order in a table: exactly if they are few, otherwise by the files.
	of := func(table byte, o triple.Order, open func(context.Context, triple.Range) (*Rows, error)) error {
		r := triple.OrderRange(o)
		rows, err := open(ctx, r)
		if err != nil {
			return err
		}
		defer rows.Close()
		n := int64(0)
		for n < exactCopies && rows.Next() {
			n++
		}
		if n == exactCopies {
			about, _, err := sn.estimate(table, r)
			if err != nil {
				return err
			}
			n = max(n, about)
		}
		copies += n
		return rows.Err()
	}
	// 2. The orders with a row of every triple, and the replicas.
	for _, o := range []triple.Order{triple.SPO, triple.POS, triple.OSP} {
		if err := of(keyspace.Storage, o, sn.Rows); err != nil {
			return 0, err
		}
	}
	return copies, of(keyspace.Replica, triple.SPO, sn.Replicas)
}
