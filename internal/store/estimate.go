// Estimates of rows from the statistics of tables.

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
	"github.com/trefoildb/trefoil/triple"
)

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
