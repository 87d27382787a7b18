// Requests as bytes; the package comment has the format.

package reads

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/internal/cluster/peer"
	"github.com/trefoildb/trefoil/internal/cluster/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// request is a request for the rows of ranges of one owner. The ranges must ascend, and must not be
// empty or overlap.
type request struct {
	epoch   uint64
	view    *view.View // of the epoch; nil on the owner
	reverse bool
	filter  *filter // nil: all pass
	limit   int64   // rows; 0 is none
	budget  int64   // bytes of frames, about; 0 is none
	// replicas selects the extra replicas placed on the machine under base.
	replicas bool
	// wait makes the owner wait until all operations in the ranges are committed.
	wait bool
	// tick makes the rows those of a tick of the epoch; zero: those of some moment after the request came.
	tick   triple.Stamp
	kept   func(key []byte) (bool, error) // on the owner: whether it has a place for a replica
	ranges []triple.Range
}

// Limits of a request. An owner also bounds the decoded bytes, because bounds with common beginnings
// are much shorter encoded.
const (
	maxRanges       = 1 << 14
	maxRangeBytes   = 1 << 20 // on the coordinator, bytes of bounds
	maxDecodedBytes = maxRangeBytes + 2*trie.MaxBoundLen
)

func (q *request) encode() []byte { return peer.Encode(64+48*len(q.ranges), q.fields) }

// fields codes a request. Decoded terms share memory with the message.
func (q *request) fields(c *peer.Coder) {
	filtered := q.filter != nil
	c.Uvarint(&q.epoch)
	at := q.tick != (triple.Stamp{})
	c.Flags(&q.reverse, &filtered, &q.replicas, &q.wait, &at)
	if at {
		q.tick.Epoch = q.epoch
		c.Uvarint(&q.tick.Sequence)
	}
	peer.Number(c, &q.limit, math.MaxInt64)
	peer.Number(c, &q.budget, math.MaxInt64)
	if filtered {
		codeFilter(c, &q.filter)
	}
	codeRanges(c, &q.ranges, &decoded{ranges: maxRanges, bytes: maxDecodedBytes})
	if q.reverse && len(q.ranges) > 1 {
		c.Fail("%d ranges in reverse", len(q.ranges))
	}
}

// codeRanges codes ranges. They are coded by hand, because a bound may share a beginning with
// another one, and left bounds what is decoded.
func codeRanges(c *peer.Coder, ranges *[]triple.Range, left *decoded) {
	if c.Reading() {
		*ranges = parseRanges(c.Decoder(), left)
	} else {
		encodeRanges(c.Encoder(), *ranges)
	}
}

func encodeRanges(e *peer.Encoder, ranges []triple.Range) {
	e.Uvarint(uint64(len(ranges)))
	var before []byte
	for _, r := range ranges {
		n := commonPrefix(before, r.Lo)
		e.Uvarint(uint64(n))
		e.Bytes(r.Lo[n:])
		before = r.Lo
		if r.Hi == nil {
			e.Uvarint(0)
			continue
		}
		n = commonPrefix(r.Lo, r.Hi)
		e.Uvarint(uint64(n) + 1)
		e.Bytes(r.Hi[n:])
	}
}

func codeFilter(c *peer.Coder, f **filter) {
	if c.Reading() {
		*f = &filter{}
	}
	var there [4]bool
	for position, t := range (*f).terms {
		there[position] = t != nil
	}
	c.Flags(&there[0], &there[1], &there[2], &there[3], &(*f).defaultGraph)
	for position := range there {
		if there[position] {
			c.Bytes(&(*f).terms[position])
		}
	}
}

// decoded is the remaining limits while a message is decoded.
type decoded struct{ ranges, bytes int }

// parseRanges decodes ranges, at least one. They must ascend and not overlap.
func parseRanges(d *peer.Decoder, left *decoded) []triple.Range {
	n := d.Count(3) // three bytes each at least
	if n == 0 || n > left.ranges {
		d.Fail("%d ranges, not 1 to %d", n, left.ranges)
		return nil
	}
	left.ranges -= n
	ranges := make([]triple.Range, 0, n)
	var lo, end []byte
	for i := range n {
		// The length must be checked after each bound, because short ones may share long beginnings.
		r := triple.Range{Lo: cutShared(d, lo, &left.bytes, 0)}
		if left.bytes < 0 {
			d.Fail("bounds of more than %d bytes", maxDecodedBytes)
		}
		lo = r.Lo
		r.Hi = cutShared(d, lo, &left.bytes, 1)
		overlap := i > 0 && (end == nil || string(end) > string(lo))
		if left.bytes < 0 || r.Empty() || overlap {
			d.Fail("ranges that are empty, too long, or do not ascend")
		}
		if d.Err() != nil {
			return nil
		}
		end = r.Hi
		ranges = append(ranges, r)
	}
	return ranges
}

// cutShared decodes a bound with a beginning shared with another. If its prefix is less than
// first, the bound is nil. It subtracts the length from left, and stops if left gets negative.
func cutShared(d *peer.Decoder, other []byte, left *int, first uint64) []byte {
	n := d.Uvarint()
	if n < first || d.Err() != nil {
		return nil
	}
	n -= first
	rest := d.Bytes()
	if n > uint64(len(other)) {
		*left = -1
		return nil
	}
	if *left -= int(n) + len(rest); *left < 0 || d.Err() != nil {
		return nil
	}
	return append(append(make([]byte, 0, int(n)+len(rest)), other[:n]...), rest...)
}

// commonPrefix returns the length of the common beginning of two keys. It compares eight bytes at
// a time, because it runs for each sent row.
func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
