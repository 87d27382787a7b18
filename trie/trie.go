// The type Trie: an immutable map from keys to segments.

package trie

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
)

// Limits of a trie. They bound the memory of [Parse] for any input. [Trie.Split] must keep to
// them, because Parse must accept its result.
const (
	// MaxBoundLen is the greatest length of a bound, several times the longest key's. The longest
	// key has four terms of some 2 KiB at most.
	MaxBoundLen = 64 << 10

	// MaxBoundBytes is the greatest total length of the bounds of a trie. If each has 64 bytes,
	// about the length of separators of real keys, it is a million segments: 256 TiB of data in
	// segments of 256 MiB.
	MaxBoundBytes = 64 << 20
)

// Errors of updates. Test with errors.Is.
var (
	ErrNoSegment     = errors.New("no segment with this ID")
	ErrIDTaken       = errors.New("another segment has this ID")
	ErrOutside       = errors.New("the key is not strictly inside the segment")
	ErrNotNeighbours = errors.New("the second segment does not begin where the first one ends")
	ErrPartitions    = errors.New("the segments are in different partitions")
	ErrTooLong       = errors.New("bounds too long")
)

// A Trie maps every key to one segment. It is immutable; the methods that
// change it return a new trie, in O(length of the bounds + nodes on one path),
// and leave the old one as it was. Make one by [New] or [Parse].
//
// Invariants, which [Trie.Check] verifies, with s[0], ..., s[n-1] the segments
// in order and n >= 1:
//
//	s[0].Lo is empty, s[n-1].Hi is nil
//	s[i].Hi == s[i+1].Lo, s[i].Lo < s[i].Hi
//	IDs are unique
type Trie struct {
	bounds     *node // every segment by its lower bound
	ids        *node // the same segments by the 8 bytes of their ID
	len        int
	boundBytes int // total length of the lower bounds
}

// New returns the trie of one segment, the whole space.
func New(id uint64, partition uint32) *Trie {
	return (&Trie{}).put(&Segment{ID: id, Partition: partition})
}

// Len returns the number of segments. O(1).
func (t *Trie) Len() int { return t.len }

// Lookup returns the segment of key. It allocates nothing and takes time proportional to the
// length of key. The number of segments counts only by the nodes on the path.
func (t *Trie) Lookup(key []byte) Segment {
	return *t.bounds.floor(key)
}

// Get returns the segment with the given ID, and whether there is one.
func (t *Trie) Get(id uint64) (Segment, bool) {
	s := t.ids.get(appendID(nil, id))
	if s == nil {
		return Segment{}, false
	}
	return *s, true
}

// All returns all segments in the order of their keys.
func (t *Trie) All() iter.Seq[Segment] {
	return t.Range(nil, nil)
}

// Range returns the segments with a key k in lo <= k < hi, in order. A nil hi is the end of the
// space. If hi is not nil and hi <= lo, there are none. One lookup for each segment.
func (t *Trie) Range(lo, hi []byte) iter.Seq[Segment] {
	return func(yield func(Segment) bool) {
		if hi != nil && bytes.Compare(hi, lo) <= 0 {
			return
		}
		s := t.Lookup(lo)
		for yield(s) && s.Hi != nil && (hi == nil || bytes.Compare(s.Hi, hi) < 0) {
			s = t.Lookup(s.Hi)
		}
	}
}

// Split divides the segment id at the key at. The key must lie strictly inside: Lo < at < Hi. The
// left half [Lo, at) keeps the ID, and the right half [at, Hi) gets newID. Both keep the
// partition, because a split must not move data. Split copies at.
func (t *Trie) Split(id uint64, at []byte, newID uint64) (*Trie, error) {
	u, err := t.split(id, at, newID)
	if err != nil {
		return nil, fmt.Errorf("trie: split segment %d at %s into %d: %w", id, quoteKey(at), newID, err)
	}
	return u, nil
}

func (t *Trie) split(id uint64, at []byte, newID uint64) (*Trie, error) {
	s, ok := t.Get(id)
	if !ok {
		return nil, ErrNoSegment
	}
	if !s.Contains(at) || bytes.Equal(s.Lo, at) {
		return nil, fmt.Errorf("%w %s", ErrOutside, s)
	}
	if other, ok := t.Get(newID); ok {
		return nil, fmt.Errorf("%w: %s", ErrIDTaken, other)
	}
	if len(at) > MaxBoundLen || t.boundBytes+len(at) > MaxBoundBytes {
		return nil, fmt.Errorf("%w: %d bytes, and %d in all others; at most %d and %d in all",
			ErrTooLong, len(at), t.boundBytes, MaxBoundLen, MaxBoundBytes)
	}
	at = bytes.Clone(at)
	left := &Segment{Lo: s.Lo, Hi: at, ID: id, Partition: s.Partition}
	right := &Segment{Lo: at, Hi: s.Hi, ID: newID, Partition: s.Partition}
	return t.put(left).put(right), nil
}

// Merge joins two neighbours into one segment with the ID leftID; rightID must begin at the end
// of leftID. Both must be in one partition, because a merge must not move data either. If they
// are not, [Trie.Assign] must come first, and with it the move.
func (t *Trie) Merge(leftID, rightID uint64) (*Trie, error) {
	u, err := t.merge(leftID, rightID)
	if err != nil {
		return nil, fmt.Errorf("trie: merge segment %d and %d: %w", leftID, rightID, err)
	}
	return u, nil
}

func (t *Trie) merge(leftID, rightID uint64) (*Trie, error) {
	left, ok := t.Get(leftID)
	if !ok {
		return nil, fmt.Errorf("%w: %d", ErrNoSegment, leftID)
	}
	right, ok := t.Get(rightID)
	if !ok {
		return nil, fmt.Errorf("%w: %d", ErrNoSegment, rightID)
	}
	if left.Hi == nil || !bytes.Equal(left.Hi, right.Lo) {
		return nil, fmt.Errorf("%w: %s, %s", ErrNotNeighbours, left, right)
	}
	if left.Partition != right.Partition {
		return nil, fmt.Errorf("%w: %s, %s", ErrPartitions, left, right)
	}
	left.Hi = right.Hi
	return t.drop(right).put(&left), nil
}

// Assign puts the segment id into another partition. It must be part of a planned change, because
// no other change of a trie moves data.
func (t *Trie) Assign(id uint64, partition uint32) (*Trie, error) {
	s, ok := t.Get(id)
	if !ok {
		return nil, fmt.Errorf("trie: assign segment %d to partition %d: %w", id, partition, ErrNoSegment)
	}
	s.Partition = partition
	return t.put(&s), nil
}

// put returns t with s in place of the segment with its lower bound, or in
// addition. It leaves coverage to its caller. The trie owns s from now on.
func (t *Trie) put(s *Segment) *Trie {
	u := *t
	if t.bounds.get(s.Lo) == nil {
		u.len++
		u.boundBytes += len(s.Lo)
	}
	u.bounds = t.bounds.put(s.Lo, s)
	u.ids = t.ids.put(appendID(nil, s.ID), s)
	return &u
}

// drop returns t without s. s must be one of its segments.
func (t *Trie) drop(s Segment) *Trie {
	return &Trie{
		bounds:     t.bounds.remove(s.Lo),
		ids:        t.ids.remove(appendID(nil, s.ID)),
		len:        t.len - 1,
		boundBytes: t.boundBytes - len(s.Lo),
	}
}

// appendID appends the key of an ID. It is big-endian because successive IDs then share their
// prefix.
func appendID(b []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(b, id)
}
