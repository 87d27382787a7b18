package node

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// density is how many rows there are in the tables and in all, by which bytes
// of tables are turned into rows.
type density struct {
	mu sync.Mutex
	at time.Time
	tables
}

// tables is what all tables hold.
type tables struct {
	rows  float64 // in all tables
	bytes float64 // of all tables
	// missing is the rows that there are for each row in a table: 1, more where many
	// are in memory, less where tables hold rows that others have replaced. Of a
	// member of a cluster that is not known, and is 1.
	missing float64
	triples float64 // as they are counted: no order has more rows
	counted bool    // that triples is known
}

// densityAge is how long a look at all tables is good for.
const densityAge = time.Second

// estimate returns about how many rows lie in a range, and their bytes in tables.
//
// For each table the share of its bytes that lies in the range is taken as the
// share of its rows. Rows that are in memory only are taken to be spread as those
// in tables are.
func (sn *Snapshot) estimate(r triple.Range) (rows, bytes int64, err error) {
	if err := sn.begin(context.Background()); err != nil {
		return 0, 0, err
	}
	defer sn.store.uses.end()
	lower, upper := storageBounds(r)
	d, err := sn.store.lookAtTables()
	if err != nil {
		return 0, 0, wrap("estimate", err)
	}
	levels, err := sn.store.tablesIn(lower, upper)
	if err != nil {
		return 0, 0, wrap("estimate", err)
	}
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
	sumRows *= d.missing
	if o, whole, ok := orderOf(r); ok && d.counted {
		sumRows = min(sumRows, d.triples)
		if whole && o != triple.GSPO {
			sumRows = d.triples
		}
	}
	return int64(sumRows), int64(sumBytes), nil
}

// fewTables is up to how many tables are opened for what they say of themselves.
const fewTables = 64

// tablesIn returns the tables that have keys from lower to upper, and how many of
// their bytes lie there. Pebble collects statistics some time after it opens a
// table; of few tables that have none the properties are read.
func (s *Store) tablesIn(lower, upper []byte) ([][]pebble.SSTableInfo, error) {
	levels, err := s.db.SSTables(pebble.WithKeyRangeFilter(lower, upper), pebble.WithApproximateSpanBytes())
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
	return s.db.SSTables(pebble.WithKeyRangeFilter(lower, upper), pebble.WithApproximateSpanBytes(), pebble.WithProperties())
}

// entriesOf returns how many rows and deletions a table has; 0 where it is not known.
func entriesOf(t *pebble.SSTableInfo) (entries, deletions float64) {
	if t.TableStats.NumEntries == 0 && t.Properties != nil && !t.Virtual {
		return float64(t.Properties.NumEntries), float64(t.Properties.NumDeletions)
	}
	return float64(t.TableStats.NumEntries), float64(t.TableStats.NumDeletions)
}

// orderOf returns the order that a range lies in, and whether it is all of it; ok
// is false where it lies in several.
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

// lookAtTables returns the density, at most densityAge old.
func (s *Store) lookAtTables() (tables, error) {
	d := &s.density
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.at) < densityAge {
		return d.tables, nil
	}
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
	d.rows, d.bytes, d.missing = known, allBytes, 1
	if knownBytes > 0 {
		d.rows = known * allBytes / knownBytes
	}
	d.triples, d.counted = 0, false
	// Of a member's orders one may have far more rows than another.
	_, isMember := s.Identity()
	if counted, err := s.storedCounters(); err == nil && !isMember {
		// Three rows for each triple, four in a named graph.
		d.triples, d.counted = float64(counted.triples), true
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

// forget makes the next estimate look at all tables anew.
func (d *density) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.at = time.Time{}
}

// storedCounters returns the counters as they were committed last.
func (s *Store) storedCounters() (counters, error) {
	value, err := s.get(rowCounters)
	if err != nil || value == nil {
		return counters{}, err
	}
	return parseCounters(value)
}
