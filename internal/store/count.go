// Counts of patterns and ranges, without the rows that no user's count meets, and estimates from the statistics of tables.

package store

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/database"
	"github.com/trefoildb/trefoil/internal/store/fault"
	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/internal/systemgraph"
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

// linkOptions bound the rows of UIDs and hosts in SPO. Rows of other graphs may be among them.
func linkOptions() *pebble.IterOptions {
	lower, upper := keyspace.StorageBounds(systemgraph.LinkRanges[triple.SPO])
	return &pebble.IterOptions{LowerBound: lower, UpperBound: upper}
}

// isLinkRow reports whether an iterator is at the row of a UID or a host.
func isLinkRow(it *pebble.Iterator) (bool, error) {
	value, err := it.ValueAndErr()
	return err == nil && !triple.IsTombstone(value) && !triple.IsAnnotation(value) && systemgraph.IsLinkKey(it.Key()[1:]), err
}

// newLinks counts the rows of UIDs and hosts in tables that are to be ingested, if the store does not hold them. Keys
// of different tables must not overlap.
func (c *Committer) newLinks(tables []string) (n int64, err error) {
	held, err := c.db.NewIter(linkOptions())
	if err != nil {
		return 0, err
	}
	defer held.Close()
	// One table is open at a time, because a large load has thousands.
	for _, path := range tables {
		some, err := c.newLinksOf(path, held)
		if err != nil {
			return 0, err
		}
		n += some
	}
	return n, held.Error()
}

// newLinksOf is newLinks of one table. held iterates over the rows of the store.
func (c *Committer) newLinksOf(path string, held *pebble.Iterator) (n int64, err error) {
	// 1. The rows are in one range, so a table without UIDs costs a seek.
	loaded, err := c.db.TableRows(path, linkOptions())
	if err != nil {
		return 0, err
	}
	defer loaded.Close()
	for valid := loaded.First(); valid; valid = loaded.Next() {
		link, err := isLinkRow(loaded)
		if err != nil {
			return 0, err
		}
		if !link {
			continue
		}
		// 2. A row that is held and live is replaced, so it is not new. The seeks ascend.
		n++
		if held.SeekGE(loaded.Key()) && bytes.Equal(held.Key(), loaded.Key()) {
			if link, err = isLinkRow(held); err != nil {
				return 0, err
			}
			if link {
				n--
			}
		}
	}
	return n, loaded.Error()
}

// density holds the numbers of rows in the tables and in all. They convert bytes of tables into
// rows.
type density struct {
	mu sync.Mutex
	at time.Time
	tables
}

// tables sums up all tables.
type tables struct {
	rows  float64 // in all tables
	bytes float64 // of all tables
	// missing is the number of rows for each row in a table. It is 1 by default, more if many rows
	// are in memory, and less if tables hold replaced rows. For a member of a cluster it is
	// unknown, and 1.
	missing float64
	triples float64 // number of triples, because no order has more rows
	counted bool    // triples is known
}

// densityAge is how long the sums are valid.
const densityAge = time.Second

// estimate returns about how many rows of a table lie in a range, and their bytes in files.
//
// Each table counts with the share of its bytes in the range. Rows in memory are assumed to be
// spread like the rows in tables.
func (sn *Snapshot) estimate(table byte, r triple.Range) (rows, bytes int64, err error) {
	if err := sn.Begin(context.Background()); err != nil {
		return 0, 0, err
	}
	defer sn.store.db.End()
	// 1. Get the sums of all tables and the tables of the range.
	lower, upper := keyspace.TableBounds(table, r)
	d, err := sn.store.density.measure(sn.store)
	if err != nil {
		return 0, 0, fault.Wrap("estimate", err)
	}
	levels, err := tablesIn(sn.store.db, lower, upper)
	if err != nil {
		return 0, 0, fault.Wrap("estimate", err)
	}
	// 2. Add up the shares. A deletion hides one row, so it counts twice.
	sumRows, sumBytes := 0.0, 0.0
	for _, level := range levels {
		for _, table := range level {
			span := min(float64(table.ApproximateSpanBytes), float64(table.Size))
			sumBytes += span
			if entries, deletions := entriesOf(&table); entries > 0 {
				sumRows += max(entries-2*deletions, 0) * span / float64(max(table.Size, 1))
			} else if d.bytes > 0 { // its statistics are not read yet
				sumRows += d.rows * span / d.bytes
			}
		}
	}
	// 3. Correct for rows in memory. No order has more rows than there are triples.
	sumRows *= d.missing
	if o, whole, ok := orderOf(r); ok && d.counted {
		sumRows = min(sumRows, d.triples)
		if whole && o != triple.GSPO {
			sumRows = d.triples
		}
	}
	return int64(sumRows), int64(sumBytes), nil
}

// fewTables is the number of tables up to which their properties are read from the files.
const fewTables = 64

// tablesIn returns the tables with keys from lower to upper, and their bytes in that range. Pebble
// collects statistics some time after it opens a table. If they are missing and the tables are
// few, their properties are read.
func tablesIn(db *database.Database, lower, upper []byte) ([][]pebble.SSTableInfo, error) {
	levels, err := db.SSTables(pebble.WithKeyRangeFilter(lower, upper), pebble.WithApproximateSpanBytes())
	if err != nil {
		return nil, err
	}
	tables, unknown := 0, false
	for _, level := range levels {
		tables += len(level)
		for i := range level {
			unknown = unknown || level[i].TableStats.NumEntries == 0
		}
	}
	if !unknown || tables > fewTables {
		return levels, nil
	}
	return db.SSTables(pebble.WithKeyRangeFilter(lower, upper), pebble.WithApproximateSpanBytes(), pebble.WithProperties())
}

// entriesOf returns how many rows and deletions a table has, or 0 if that is unknown.
func entriesOf(t *pebble.SSTableInfo) (entries, deletions float64) {
	if t.TableStats.NumEntries == 0 && t.Properties != nil && !t.Virtual {
		return float64(t.Properties.NumEntries), float64(t.Properties.NumDeletions)
	}
	return float64(t.TableStats.NumEntries), float64(t.TableStats.NumDeletions)
}

// orderOf returns the order of a range, and whether it is the whole order. ok is false if the
// range spans several.
func orderOf(r triple.Range) (o triple.Order, whole, ok bool) {
	if len(r.Lo) == 0 || len(r.Hi) == 0 {
		return 0, false, false
	}
	all := triple.OrderRange(triple.Order(r.Lo[0]))
	if bytes.Compare(r.Hi, all.Hi) > 0 {
		return 0, false, false
	}
	return triple.Order(r.Lo[0]), len(r.Lo) == 1 && bytes.Equal(r.Hi, all.Hi), true
}

// measure returns the sums, at most densityAge old.
func (d *density) measure(s *Store) (tables, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.at) < densityAge {
		return d.tables, nil
	}
	// 1. Sum up the tables with statistics, and the bytes of all.
	levels, err := s.db.SSTables()
	if err != nil {
		return tables{}, err
	}
	known, knownBytes, allBytes := 0.0, 0.0, 0.0
	for _, level := range levels {
		for _, table := range level {
			allBytes += float64(table.Size)
			if table.TableStats.NumEntries > 0 {
				known += max(0, float64(table.TableStats.NumEntries)-2*float64(table.TableStats.NumDeletions))
				knownBytes += float64(table.Size)
			}
		}
	}
	// 2. Assume the same density in tables without statistics.
	d.rows, d.bytes, d.missing = known, allBytes, 1
	if knownBytes > 0 {
		d.rows = known * allBytes / knownBytes
	}
	d.triples, d.counted = 0, false
	// 3. Compare with the counters, but not on a member, because its orders differ in size.
	_, isMember := s.Identity()
	if counted, err := s.db.Counters(); err == nil && !isMember {
		// A triple has three rows, or four in a named graph.
		d.triples, d.counted = float64(counted.Triples), true
		switch {
		case d.rows == 0: // Pebble reads statistics some time after it opens tables
			d.rows = 3 * d.triples
		case d.rows < 3*d.triples:
			d.missing = 3 * d.triples / d.rows
		case d.rows > 4*d.triples:
			d.missing = 4 * d.triples / d.rows
		}
	}
	d.at = time.Now()
	return d.tables, nil
}

// forget makes the next estimate read all tables again.
func (d *density) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = time.Time{}
}
