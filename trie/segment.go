// Segments and partitions.

package trie

import (
	"bytes"
	"fmt"
	"strconv"
)

// A Segment is the range [Lo, Hi) of the ordered space: the keys k with Lo <= k < Hi, compared
// byte by byte. A nil Hi is the end of the space.
//
// If a segment comes from a [Trie], its Lo and Hi belong to the trie and are shared by later
// tries. They must not be modified, and may be kept.
//
// Invariant: Hi == nil || bytes.Compare(Lo, Hi) < 0.
type Segment struct {
	Lo, Hi []byte
	ID     uint64
	// Partition is the segment's partition. It is kept with the segment and not derived from its
	// ID, because a split must not move data. Both halves stay in the partition of the whole
	// until a planned change gives the new one the partition of its own ID. See [HashPartition].
	Partition uint32
}

// Contains reports whether key lies in the segment.
func (s Segment) Contains(key []byte) bool {
	return bytes.Compare(s.Lo, key) <= 0 && (s.Hi == nil || bytes.Compare(key, s.Hi) < 0)
}

// String is for messages and tests: the ID, the partition and the quoted bounds. If a bound is
// long, it is cut.
func (s Segment) String() string {
	hi := "end"
	if s.Hi != nil {
		hi = quoteKey(s.Hi)
	}
	return fmt.Sprintf("%d@%d[%s, %s)", s.ID, s.Partition, quoteKey(s.Lo), hi)
}

// quoteKey quotes a key for a message. Keys are up to MaxBoundLen bytes long; a
// message needs only enough of one to find it.
func quoteKey(key []byte) string {
	const limitBytes = 96
	if len(key) <= limitBytes {
		return strconv.Quote(string(key))
	}
	return fmt.Sprintf("%q... (%d bytes)", key[:limitBytes], len(key))
}
