// Counts of changes, by the first two terms of rows.

package database

import (
	"fmt"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/internal/store/keyspace"
	"github.com/trefoildb/trefoil/triple"
)

// The counts serve readers that derive data from rows of this machine. Data from the rows with two
// given first terms is still valid if their count has not changed since before the read.

// changeBuckets is the number of counts. Several pairs of terms may share one.
const changeBuckets = 1 << 20

// changeCounts counts changes of rows in SPO and POS by their first two terms. It is off if it is
// nil.
type changeCounts struct {
	all     atomic.Uint64 // changes of any pair
	buckets [changeBuckets]atomic.Uint32
}

func bucketOf(pair []byte) uint32 { return uint32(xxhash.Sum64(pair) % changeBuckets) }

// note returns a function that counts the changes of a batch. It must be called when the batch is
// readable, and before any caller gets an answer.
func (c *changeCounts) note(batch *pebble.Batch) (count func(), err error) {
	if c == nil || batch.Empty() {
		return func() {}, nil
	}
	// Collect the buckets of changed rows. A range deletion, or a key without two terms, may
	// concern any pair. Neighbours often share a bucket, so a repetition is skipped.
	var changed []uint32
	any := false
	for reader := batch.Reader(); ; {
		kind, key, _, ok, err := reader.Next()
		if err != nil {
			return nil, fmt.Errorf("read a batch: %w", err)
		}
		if !ok {
			break
		}
		switch kind {
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindDelete:
			if len(key) < 2 || key[0] != keyspace.Storage || key[1] != byte(triple.SPO) && key[1] != byte(triple.POS) {
				continue
			}
			pair, ok := triple.KeyPair(key[1:])
			if !ok {
				any = true
				continue
			}
			b := bucketOf(pair)
			if n := len(changed); n == 0 || changed[n-1] != b {
				changed = append(changed, b)
			}
		case pebble.InternalKeyKindLogData:
		case pebble.InternalKeyKindRangeDelete:
			any = any || key[0] != keyspace.Local // local state is of no pair
		default:
			any = true
		}
	}
	// The counts may rise only after the commit, because a reader takes them before it reads.
	return func() {
		for _, b := range changed {
			c.buckets[b].Add(1)
		}
		if any {
			c.all.Add(1)
		}
	}, nil
}

// any counts a change of unknown rows.
func (c *changeCounts) any() {
	if c != nil {
		c.all.Add(1)
	}
}

// ChangeBucket returns the bucket, in this process, of a set of rows. These are the rows of SPO
// and POS with the same first two terms as key. ok is false if changes are not counted
// ([Options.CountChanges]).
func (d *Database) ChangeBucket(key []byte) (bucket uint32, ok bool) {
	pair, isPair := triple.KeyPair(key)
	if d.changes == nil || !isPair {
		return 0, false
	}
	return bucketOf(pair), true
}

// ChangeCount returns the number of changes in a bucket of [Database.ChangeBucket]. A change is
// counted before its caller gets an answer. So if rows are read after their count was taken, they
// have all changes that were answered before. They stay valid until the count changes.
func (d *Database) ChangeCount(bucket uint32) uint64 {
	// Both counts only grow, so their sum changes when either does.
	return d.changes.all.Load()<<32 + uint64(d.changes.buckets[bucket].Load())
}
