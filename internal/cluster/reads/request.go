// Requests as bytes; the package comment has the format.

package reads

import (
	"encoding/binary"
	"fmt"
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
	kept     func(key []byte) (bool, error) // on the owner: whether it has a place for a replica
	ranges   []triple.Range
}

// Limits of a request. An owner also bounds the decoded bytes, because bounds with common beginnings
// are much shorter encoded.
const (
	maxRanges       = 1 << 14
	maxRangeBytes   = 1 << 20 // on the coordinator, bytes of bounds
	maxDecodedBytes = maxRangeBytes + 2*trie.MaxBoundLen
)

const (
	flagReverse = 1 << 0
	flagFilter  = 1 << 1
	flagReplica = 1 << 2

	filterDefaultGraph = 1 << 4
)

func (q *request) encode() []byte {
	e := peer.NewEncoder(64 + 48*len(q.ranges))
	e.Uvarint(q.epoch)
	flags := byte(0)
	if q.reverse {
		flags |= flagReverse
	}
	if q.filter != nil {
		flags |= flagFilter
	}
	if q.replicas {
		flags |= flagReplica
	}
	e.Byte(flags)
	e.Uvarint(uint64(q.limit))
	e.Uvarint(uint64(q.budget))
	if q.filter != nil {
		q.filter.encode(e)
	}
	encodeRanges(e, q.ranges)
	return e.Data()
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

func (f *filter) encode(e *peer.Encoder) {
	flags := byte(0)
	if f.defaultGraph {
		flags |= filterDefaultGraph
	}
	for position, t := range f.terms {
		if t != nil {
			flags |= 1 << position
		}
	}
	e.Byte(flags)
	for _, t := range f.terms {
		if t != nil {
			e.Bytes(t)
		}
	}
}

// parseRequest decodes a request. The result shares memory with b.
func parseRequest(b []byte) (*request, error) {
	d := peer.NewDecoder(b)
	q := &request{epoch: d.Uvarint()}
	flags := d.Byte()
	q.reverse = flags&flagReverse != 0
	q.replicas = flags&flagReplica != 0
	q.limit = int64(min(d.Uvarint(), math.MaxInt64))
	q.budget = int64(min(d.Uvarint(), math.MaxInt64))
	if flags&flagFilter != 0 {
		q.filter = parseFilter(d)
	}
	var err error
	if q.ranges, err = parseRanges(d, &decoded{ranges: maxRanges, bytes: maxDecodedBytes}); err != nil {
		return nil, err
	}
	if q.reverse && len(q.ranges) > 1 {
		return nil, fmt.Errorf("%w: %d ranges in reverse", peer.ErrMessage, len(q.ranges))
	}
	return q, d.End()
}

// decoded is the remaining limits while a message is decoded.
type decoded struct{ ranges, bytes int }

// parseRanges decodes ranges, at least one. They must ascend and not overlap.
func parseRanges(d *peer.Decoder, left *decoded) ([]triple.Range, error) {
	n := d.Count(3) // three bytes each at least
	if n == 0 || n > left.ranges {
		return nil, fmt.Errorf("%w: %d ranges, not 1 to %d", peer.ErrMessage, n, left.ranges)
	}
	left.ranges -= n
	ranges := make([]triple.Range, 0, n)
	var lo, end []byte
	for i := range n {
		r := triple.Range{Lo: cutShared(d, lo, &left.bytes, 0)}
		if left.bytes < 0 {
			return nil, fmt.Errorf("%w: bounds of more than %d bytes", peer.ErrMessage, maxDecodedBytes)
		}
		lo = r.Lo
		r.Hi = cutShared(d, lo, &left.bytes, 1)
		if d.Err() != nil {
			return nil, d.Err()
		}
		overlap := i > 0 && (end == nil || string(end) > string(lo))
		if left.bytes < 0 || r.Empty() || overlap {
			return nil, fmt.Errorf("%w: ranges that are empty, too long, or do not ascend", peer.ErrMessage)
		}
		end = r.Hi
		ranges = append(ranges, r)
	}
	return ranges, nil
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

func parseFilter(d *peer.Decoder) *filter {
	flags := d.Byte()
	f := &filter{defaultGraph: flags&filterDefaultGraph != 0}
	for position := range f.terms {
		if flags&(1<<position) != 0 {
			f.terms[position] = d.Bytes()
		}
	}
	return f
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
