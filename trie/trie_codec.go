// Tries as bytes.

package trie

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// minSegmentBytes is the size of the smallest segment in an encoding: four
// uvarints.
const minSegmentBytes = 4

// AppendBinary appends the encoding of the trie to b and returns the result.
// The package comment draws the format. The error is always nil; it is there
// for encoding.BinaryAppender.
func (t *Trie) AppendBinary(b []byte) ([]byte, error) {
	start := len(b)
	b = trieFormat.begin(b)
	b = binary.AppendUvarint(b, uint64(t.len))
	var previous []byte
	for s := range t.All() {
		shared := commonPrefix(previous, s.Lo)
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(s.Lo)-shared))
		b = append(b, s.Lo[shared:]...)
		b = binary.AppendUvarint(b, s.ID)
		b = binary.AppendUvarint(b, uint64(s.Partition))
		previous = s.Lo
	}
	return trieFormat.seal(b, start), nil
}

// Parse returns the trie encoded by b; all of b, to its last byte. It keeps nothing of b. For any
// b, Parse does not panic, and allocates at most [MaxBoundBytes] and some 100 times len(b). Its
// errors wrap [ErrCorrupt] or [ErrVersion] and name the byte and the element at fault.
func Parse(b []byte) (*Trie, error) {
	t, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("trie: parse a trie: %w", err)
	}
	return t, nil
}

func parse(b []byte) (*Trie, error) {
	r, err := trieFormat.open(b)
	if err != nil {
		return nil, err
	}
	// 1. Read the segments in order of their bounds.
	n := r.count("the number of segments", minSegmentBytes, math.MaxInt32)
	t := &Trie{len: n}
	entries := make([]entry, 0, n)
	var previous *Segment
	for i := range n {
		s := t.parseSegment(r, previous)
		if r.err != nil {
			return nil, fmt.Errorf("segment %d of %d: %w", i+1, n, r.err)
		}
		entries = append(entries, entry{s.Lo, s})
		previous = s
	}
	r.end()
	if r.err != nil {
		return nil, r.err
	}
	// 2. Build both trees at once, because one insertion after the other would copy a path each.
	t.bounds = build(entries, 0)
	if t.ids, err = buildIDs(entries); err != nil {
		return nil, err
	}
	return t, nil
}

// parseSegment reads the segment after previous, and sets the upper bound of previous. If
// previous is nil, the segment must be the first. It counts the bytes of the bound in t.
func (t *Trie) parseSegment(r *reader, previous *Segment) *Segment {
	var before []byte
	if previous != nil {
		before = previous.Lo
	}
	// 1. Read the bound. Its length must be checked before the bytes are copied.
	sharedOff := r.off
	shared := int(r.uvarint("the shared length", uint64(len(before))))
	restOff := r.off
	restLen := int(r.uvarint("the length of the bound's rest", uint64(MaxBoundLen-shared)))
	if t.boundBytes += shared + restLen; t.boundBytes > MaxBoundBytes {
		r.fail(restOff, "the bounds are over %d bytes", MaxBoundBytes)
	}
	rest := r.bytes("the bound's rest", restLen)
	if r.err != nil {
		return nil
	}
	// 2. The encoding must be canonical: ascending, and shared as long as possible.
	switch {
	case previous == nil && restLen > 0:
		r.fail(restOff, "the first bound is not empty")
	case previous != nil && restLen == 0:
		r.fail(restOff, "the bound is not greater than the one before")
	case shared < len(before) && rest[0] == before[shared]:
		r.fail(sharedOff, "the shared length %d is not all that is shared", shared)
	case shared < len(before) && rest[0] < before[shared]:
		r.fail(restOff, "the bound is less than the one before")
	}
	s := &Segment{
		ID:        r.uvarint("the ID", math.MaxUint64),
		Partition: uint32(r.uvarint("the partition", math.MaxUint32)),
	}
	if r.err != nil {
		return nil
	}
	// 3. The upper bound of the segment before is this lower bound, because segments must tile
	// the space.
	s.Lo = slices.Concat(before[:shared], rest)
	if previous != nil {
		previous.Hi = s.Lo
	}
	return s
}

// buildIDs returns the tree of IDs for the entries of a tree of bounds.
func buildIDs(byBound []entry) (*node, error) {
	entries := make([]entry, len(byBound))
	keys := make([]byte, 0, 8*len(byBound))
	for i, e := range byBound {
		keys = appendID(keys, e.seg.ID)
		entries[i] = entry{keys[8*i : 8*i+8 : 8*i+8], e.seg}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.seg.ID, b.seg.ID) })
	for i := 1; i < len(entries); i++ {
		if s := entries[i].seg; s.ID == entries[i-1].seg.ID {
			return nil, fmt.Errorf("two segments have the ID %d, one begins at %s: %w", s.ID, quoteKey(s.Lo), ErrCorrupt)
		}
	}
	return build(entries, 0), nil
}
