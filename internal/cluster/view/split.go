// Splits of segments.

package view

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/trefoildb/trefoil/recovery"
	"github.com/trefoildb/trefoil/trie"
)

// SplitAt is the point of a split: a key strictly inside of a segment.
type SplitAt struct {
	Segment uint64 `json:"segment"`
	At      []byte `json:"at"`
}

// Split splits segments, the same ones in base and in target. Both halves stay
// where they are; the right ones get new IDs. One segment may be split at several
// keys.
func (v *View) Split(splits []SplitAt) (*View, error) {
	n, one := v.next(), v.Base.Trie == v.Target.Trie
	// The last key of a segment first: what is left of it keeps the ID.
	for _, s := range slices.SortedFunc(slices.Values(splits), func(a, b SplitAt) int { return bytes.Compare(b.At, a.At) }) {
		var err error
		if n.Base.Trie, err = n.Base.Trie.Split(s.Segment, s.At, n.NextSegment); err != nil {
			return nil, fmt.Errorf("view: %w", err)
		}
		if one {
			n.Target.Trie = n.Base.Trie
		} else if n.Target.Trie, err = n.Target.Trie.Split(s.Segment, s.At, n.NextSegment); err != nil {
			return nil, fmt.Errorf("view: %w", err)
		}
		n.NextSegment++
	}
	return n.finish()
}

// Splittable returns those of splits that [View.Split] can do, each once.
func (v *View) Splittable(splits []SplitAt) []SplitAt { return v.splittable(splits, len(splits)) }

// splittable returns those of splits that [View.Split] can do, each once, at most
// so many.
func (v *View) splittable(splits []SplitAt, most int) (ok []SplitAt) {
	splits = slices.SortedFunc(slices.Values(splits), compareSplits)
	splits = slices.CompactFunc(splits, func(a, b SplitAt) bool { return compareSplits(a, b) == 0 })
	for _, s := range splits {
		segment, found := v.Base.Trie.Get(s.Segment)
		if found && len(s.At) <= trie.MaxBoundLen && segment.Contains(s.At) && !bytes.Equal(segment.Lo, s.At) && len(ok) < most {
			ok = append(ok, s)
		}
	}
	return ok
}

func compareSplits(a, b SplitAt) int {
	return cmp.Or(cmp.Compare(a.Segment, b.Segment), bytes.Compare(a.At, b.At))
}

// Rebalance gives each segment from a split a partition of its own, by the hash of its ID: many
// move at once. If no segment would change its owner, it returns v itself.
func (v *View) Rebalance() (*View, error) {
	if v.Phase == recovery.Ingest {
		return nil, errIngest
	}
	n := v.next()
	if v.Misplaced() == 0 {
		return v, nil
	}
	n.startFill()
	var err error
	if n.Target.Trie, err = hashed(n.Target.Trie, n.Target.Placement); err != nil {
		return nil, err
	}
	return n.finish()
}

// Misplaced returns which share of target's segments, from 0 to 1, would have
// another owner after [View.Rebalance].
func (v *View) Misplaced() float64 { return v.misplaced() }

func (v *View) countMisplaced() float64 {
	segments, misplaced, p := 0, 0, v.Target.Placement
	for s := range v.Target.Trie.All() {
		segments++
		if p.Owner(s) != p.PartitionOwner(trie.HashPartition(s.ID, p.Partitions())) {
			misplaced++
		}
	}
	return float64(misplaced) / float64(segments)
}

// hashed returns t with every segment in the partition of its ID's hash.
func hashed(t *trie.Trie, p *trie.Placement) (*trie.Trie, error) {
	for s := range t.All() {
		partition := trie.HashPartition(s.ID, p.Partitions())
		if partition == s.Partition {
			continue
		}
		var err error
		if t, err = t.Assign(s.ID, partition); err != nil {
			return nil, err
		}
	}
	return t, nil
}
