package node

import (
	"fmt"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"

	"github.com/trefoildb/trefoil/triple"
)

// This file counts changes, for those who keep something that was made from rows of
// this machine: what was made of the rows that begin with two terms is still right if
// their count is what it was before they were read.

// changeBuckets is how many counts there are; the rows of several pairs of terms share
// one.
const changeBuckets = 1 << 20

// changeCounts counts changes of rows in SPO and POS by their first two terms. It is off
// where it is nil.
type changeCounts struct {
	all     atomic.Uint64 // changes of no pair in particular
	buckets [changeBuckets]atomic.Uint32
}

func bucketOf(pair []byte) uint32 { return uint32(xxhash.Sum64(pair) % changeBuckets) }

// note returns what counts the changes of a batch; it is to be called when the batch can
// be read, and before anybody is told that it can.
func (c *changeCounts) note(batch *pebble.Batch) (count func(), err error) {
	if c == nil || batch.Empty() {
		return func() {}, nil
	}
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
			if len(key) < 2 || key[0] != tableStorage || key[1] != byte(triple.SPO) && key[1] != byte(triple.POS) {
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
		default:
			any = true
		}
	}
	return func() {
		for _, b := range changed {
			c.buckets[b].Add(1)
		}
		if any {
			c.all.Add(1)
		}
	}, nil
}

// any counts a change of rows that are not told one by one.
func (c *changeCounts) any() {
	if c != nil {
		c.all.Add(1)
	}
}

// ChangeBucket returns where the changes of those rows of SPO and POS are counted, in this
// process, which begin with the same two terms as a key; ok is false where nothing is
// counted ([Options.CountChanges]).
func (s *Store) ChangeBucket(key []byte) (bucket uint32, ok bool) {
	pair, isPair := triple.KeyPair(key)
	if s.changes == nil || !isPair {
		return 0, false
	}
	return bucketOf(pair), true
}

// ChangeCount returns the count of the changes of a bucket, which [Store.ChangeBucket]
// returned. A change is counted before anybody is told that it is done. So what was read
// of these rows after their count was taken lacks nothing that was done before, and stays
// what it is until the count is another one.
func (s *Store) ChangeCount(bucket uint32) uint64 {
	// The sum is of two counts that only grow.
	return s.changes.all.Load()<<32 + uint64(s.changes.buckets[bucket].Load())
}
