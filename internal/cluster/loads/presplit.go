// Splitting of an empty cluster before its first load.

package loads

import (
	"bytes"
	"context"

	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/rdfload"
	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

const (
	// segmentsEach is the number of segments of a load for each machine, because few would not
	// spread evenly.
	segmentsEach = 16
	// maxSegments is into how many it is split at most.
	maxSegments = 1024
)

// presplit splits the space at the keys of the load, and waits until the segments have moved to
// their owners. It does so only if the cluster holds less than the load. Otherwise the splits are
// already right for its data.
func (s *sink) presplit(ctx context.Context, sample rdfload.Sample) error {
	l := s.loads
	v := l.member.View()
	// 1. Cut the sample. A single machine needs no cuts, because nothing can spread.
	machines := 0
	for _, m := range v.Members {
		if m.State == view.Up {
			machines++
		}
	}
	bounds := cuts(sample, machines, l.options)
	if machines < 2 || len(bounds) == 0 {
		return nil
	}
	// 2. Skip the split if it is of no use. A failure here is no error of the load, because a
	// split only saves time.
	held, err := l.leader.Bytes(ctx)
	if err != nil {
		l.options.Logger.Debug("how much the cluster holds is not known", "error", err)
		return nil
	}
	if held > sample.Bytes {
		return nil
	}
	// 3. Request the splits until no bound is missing and no segment is misplaced.
	wish := func(v *view.View) view.Wishes {
		return view.Wishes{Splits: missing(v, bounds), Rebalance: true}
	}
	return l.waitView(ctx, wish, func(v *view.View) (bool, error) {
		return v.Phase == recovery.Idle && v.Misplaced() == 0 && len(missing(v, bounds)) == 0, nil
	})
}

// cuts returns the bounds of segments for a load.
func cuts(sample rdfload.Sample, machines int, o Options) (bounds [][]byte) {
	limit := min(max(sample.Bytes/int64(max(machines, 1)*segmentsEach), o.MinSegmentBytes), o.MaxSegmentBytes)
	n := int(min(sample.Bytes/limit, maxSegments, int64(len(sample.Keys))))
	for i := 1; i < n; i++ {
		at := i * len(sample.Keys) / n
		bound := triple.SplitBound(trie.Separator(sample.Keys[at-1], sample.Keys[at]))
		if len(bound) == 0 || len(bound) > trie.MaxBoundLen || len(bounds) > 0 && bytes.Compare(bounds[len(bounds)-1], bound) >= 0 {
			continue
		}
		bounds = append(bounds, bound)
	}
	return bounds
}

// missing returns the bounds without a segment's begin.
func missing(v *view.View, bounds [][]byte) (splits []view.SplitAt) {
	for _, at := range bounds {
		if s := v.Base.Trie.Lookup(at); !bytes.Equal(s.Lo, at) {
			splits = append(splits, view.SplitAt{Segment: s.ID, At: at})
		}
	}
	return splits
}
