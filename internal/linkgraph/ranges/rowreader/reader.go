// Package rowreader reads rows for the calls of a cluster's graph.
//
// [Readers] begins a [Reader] for each call, of one snapshot. A Reader looks up or scans
// rows through the cluster's reads. If the owner of a range is down, FetchCopied and
// FetchWalk request the range from machines that keep copies of it (messages links/copied
// and links/walk; package copyserver answers them). ReadRetrying repeats a call while a
// machine is down, because a newer view may have another owner.
package rowreader

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/linkkeys"
	"github.com/trefoildb/trefoil/internal/linkgraph/ranges/ownership"
	"github.com/trefoildb/trefoil/internal/store"
	"github.com/trefoildb/trefoil/sparql"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// Reader reads for one call.
type Reader struct {
	Readers    *Readers
	Snapshot   store.Reader
	Source     sparql.Source
	usedCopies atomic.Bool // some data came from copies

	// Retries is set if the call is repeated while a machine is down. retryUntil is the time at
	// which the call gives up, zero before its first failure. retryPause is the length of the
	// last pause.
	Retries    bool
	retryMu    sync.Mutex
	retryUntil time.Time
	retryPause time.Duration
}

// Close closes the reader. There is no error, because the snapshot holds nothing.
func (r *Reader) Close() { _ = r.Snapshot.Close() }

// Degraded reports whether data came from other orders or from copies, because a machine is
// down.
func (r *Reader) Degraded() bool {
	if r.usedCopies.Load() {
		return true
	}
	return r.FromOtherOrders()
}

// FromOtherOrders reports whether rows came from another order than the requested one.
func (r *Reader) FromOtherOrders() bool {
	return r.Snapshot.Degraded()
}

// maxLookUpRanges is the number of ranges in one look-up: one message to each owner.
const maxLookUpRanges = 1 << 13

// LookUp calls each for the rows of ranges. The rows of one item come together.
func (r *Reader) LookUp(ctx context.Context, all []linkkeys.Wanted, each func(item int, row *linkkeys.Row) error) error {
	all = linkkeys.SortWanted(all)
	ranges := make([]triple.Range, 0, min(len(all), maxLookUpRanges))
	for part := range slices.Chunk(all, maxLookUpRanges) {
		ranges = ranges[:0]
		for _, w := range part {
			ranges = append(ranges, w.Range)
		}
		err := r.Source.Lookup(ctx, ranges, func(i int, key, value []byte) error {
			row, err := linkkeys.DecodeRow(key, value)
			if err != nil {
				return err
			}
			return each(part[i].Item, &row)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// LookUpLive looks up ranges. If the call is repeated, it does not wait for down machines.
func (r *Reader) LookUpLive(ctx context.Context, all []linkkeys.Wanted, row func(item int, row *linkkeys.Row) error) error {
	v := r.Readers.View()
	if !r.Retries || r.Readers.Copies == 0 || v == nil {
		return r.LookUp(ctx, all, row)
	}
	looked, err := r.LookUpWatched(ctx, v, all, nil, row)
	if !looked {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, ownership.ErrDown)
	}
	return err
}

// LookUpOrCopied looks up ranges, each of all keys that begin with two terms. If an owner is
// down, its ranges come from copies if possible: then each is called for an item instead of
// row, or after it.
func (r *Reader) LookUpOrCopied(ctx context.Context, kind byte, all []linkkeys.Wanted, row func(item int, row *linkkeys.Row) error, each func(item int, d *peer.Decoder) error) error {
	g := r.Readers
	if g.Copies == 0 {
		return r.LookUp(ctx, all, row)
	}
	for {
		v := g.View()
		if v == nil {
			return r.LookUp(ctx, all, row)
		}
		// 1. Ranges of down owners come from copies.
		away := g.DownRanges(v, all)
		known := map[trie.MachineID]bool{}
		for _, a := range away {
			known[a.Owner] = true
		}
		answered, unsure, err := r.FetchCopied(ctx, v, kind, away, each)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(slices.Clone(all), func(w linkkeys.Wanted) bool { return answered[w.Item] })
		if len(all) == 0 {
			return nil
		}
		// 2. If a copy may answer a moment later, retry under the latest view.
		if slices.ContainsFunc(all, func(w linkkeys.Wanted) bool { return unsure[w.Item] }) && r.WaitRetry(ctx) {
			continue
		}
		// 3. Look up the rest. Owners that are known to be down are not probed.
		looked, err := r.LookUpWatched(ctx, v, all, known, row)
		if looked {
			return err
		}
		if !r.WaitRetry(ctx) {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, ownership.ErrDown)
		}
	}
}

// LookUpWatched looks up ranges under [ownership.Machines.Watch].
func (r *Reader) LookUpWatched(ctx context.Context, v *view.View, all []linkkeys.Wanted, known map[trie.MachineID]bool, row func(item int, row *linkkeys.Row) error) (looked bool, err error) {
	return r.Readers.Watch(ctx, v, all, known, func(ctx context.Context) error { return r.LookUp(ctx, all, row) })
}
