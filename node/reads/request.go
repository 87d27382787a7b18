// Requests as bytes (drawn in the package comment).

package reads

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/trefoildb/trefoil/node/peer"
	"github.com/trefoildb/trefoil/node/view"
	"github.com/trefoildb/trefoil/trie"
	"github.com/trefoildb/trefoil/triple"
)

// request asks an owner for the rows of ranges, which are not empty, ascend and
// do not overlap.
type request struct {
	epoch   uint64
	view    *view.View // of a coordinator's: that of the epoch
	reverse bool
	filter  *filter // nil: all pass
	limit   int64   // rows; 0 is none
	budget  int64   // bytes of frames, about; 0 is none
	// replicas asks for the extra replicas that the machine keeps under base.
	replicas bool
	kept     func(key []byte) (bool, error) // of an owner's: whether base says that it keeps a replica
	ranges   []triple.Range
}

// Limits of a request: what a coordinator puts into one, and what an owner takes,
// so that bytes that share much do not become many.
const (
	maxRanges       = 1 << 14
	maxRangeBytes   = 1 << 20 // of a coordinator's, by the bytes of their bounds
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

// parseRequest reads a request; it shares memory with b.
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

// decoded is how much more a message may ask for.
type decoded struct{ ranges, bytes int }

// parseRanges reads ranges, one at least, that ascend and do not overlap.
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

// cutShared reads a bound that shares its beginning with another; one that is
// written as less than first is nil. It takes its length off left, and stops
// where that is used up.
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

// commonPrefix returns how many bytes two keys begin with in common: eight at a
// time, as each row that is sent is compared with the one before.
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
