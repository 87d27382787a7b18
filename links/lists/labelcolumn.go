// Reader of a column of labels.

package lists

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/trefoildb/trefoil/links/ef"
)

// LabelColumn is an open column. It is immutable and safe for concurrent use.
type LabelColumn struct {
	labels    uint64
	keys      ef.Sequence
	positions ef.Sequence
	data      []byte
}

// The header of a column; the package comment draws it.
const (
	labelMagic         = "tfLC"
	labelFormatVersion = 1
	labelHeaderLen     = 48
)

type labelHeader struct {
	labels, keyBytes, positionBytes, dataBytes uint64
}

func (h *labelHeader) put(b []byte) {
	copy(b, labelMagic)
	b[4] = labelFormatVersion
	for i, v := range [...]uint64{h.labels, h.keyBytes, h.positionBytes, 0, h.dataBytes} {
		binary.LittleEndian.PutUint64(b[8+8*i:], v)
	}
}

func (h *labelHeader) parse(b []byte) error {
	if len(b) < labelHeaderLen || string(b[:4]) != labelMagic {
		return fmt.Errorf("%w: a column of labels without a header", ErrCorrupt)
	}
	if b[4] != labelFormatVersion {
		return fmt.Errorf("%w: a column of labels of version %d", ErrVersion, b[4])
	}
	var zero uint64
	for i, v := range []*uint64{&h.labels, &h.keyBytes, &h.positionBytes, &zero, &h.dataBytes} {
		*v = binary.LittleEndian.Uint64(b[8+8*i:])
	}
	rest := uint64(len(b) - labelHeaderLen)
	if string(b[5:8]) != "\x00\x00\x00" || zero != 0 || h.keyBytes > rest || h.positionBytes > rest-h.keyBytes ||
		h.dataBytes != rest-h.keyBytes-h.positionBytes {
		return fmt.Errorf("%w: sizes of a column of labels of %d bytes", ErrCorrupt, len(b))
	}
	return nil
}

// OpenLabels returns the column in b, which must be the whole of it. It keeps b, which must not
// change. Errors wrap [ErrCorrupt] or [ErrVersion].
func OpenLabels(b []byte) (*LabelColumn, error) {
	var h labelHeader
	if err := h.parse(b); err != nil {
		return nil, err
	}
	// 1. Open both sequences. Only padding may follow them.
	c := &LabelColumn{labels: h.labels}
	b = b[labelHeaderLen:]
	for _, piece := range []struct {
		name string
		size uint64
		to   *ef.Sequence
	}{{"keys", h.keyBytes, &c.keys}, {"positions", h.positionBytes, &c.positions}} {
		var used int
		var err error
		if *piece.to, used, err = ef.Open(b[:piece.size]); err != nil {
			return nil, fmt.Errorf("%w: %s of labels: %w", ErrCorrupt, piece.name, err)
		}
		if piece.size-uint64(used) >= 8 {
			return nil, fmt.Errorf("%w: %s of labels take %d of %d bytes", ErrCorrupt, piece.name, used, piece.size)
		}
		b = b[piece.size:]
	}
	// 2. Check the positions against the data, because find does not.
	n := c.keys.Len()
	if c.positions.Len() != n+1 || c.positions.Last() != h.dataBytes {
		return nil, fmt.Errorf("%w: %d positions for %d keys with labels, the last %d of %d", ErrCorrupt, c.positions.Len(), n, c.positions.Last(), h.dataBytes)
	}
	c.data = b
	return c, nil
}

// NumLabels returns the header's number of labels.
func (c *LabelColumn) NumLabels() uint64 { return c.labels }

// NumKeys returns the number of keys with labels.
func (c *LabelColumn) NumKeys() int { return c.keys.Len() }

// Has reports whether a key has labels.
func (c *LabelColumn) Has(key uint32) bool {
	_, _, ok := c.find(key)
	return ok
}

// find returns the bounds of a key's labels in c.data.
func (c *LabelColumn) find(key uint32) (from, end uint64, ok bool) {
	i := c.keys.Search(uint64(key))
	if i == c.keys.Len() || c.keys.At(i) != uint64(key) {
		return 0, 0, false
	}
	from, end = c.positions.Pair(i)
	return from, end, true
}

// AppendLabels appends the labels of a key in the order of Append, or none if the key has none.
// After an error, which wraps [ErrCorrupt], nothing is appended. The anchors of about a thousand
// labels share memory.
func (c *LabelColumn) AppendLabels(dst []Label, key uint32) ([]Label, error) {
	out := dst
	for chunk, err := range c.Chunks(key) {
		if err != nil {
			return dst, err
		}
		out = append(out, chunk...)
	}
	return out, nil
}

// AppendWeights appends the weights of the labels of a key, or none if the key has none. After an error, which wraps [ErrCorrupt], nothing is appended.
func (c *LabelColumn) AppendWeights(dst []float64, key uint32) ([]float64, error) {
	out := dst
	for chunk, err := range c.chunks(key, false) {
		if err != nil {
			return dst, err
		}
		for i := range chunk {
			out = append(out, chunk[i].Weight)
		}
	}
	return out, nil
}

// Chunks yields the labels of a key, about a thousand at a time. A chunk is valid until the next
// one. An error comes last and wraps [ErrCorrupt].
func (c *LabelColumn) Chunks(key uint32) iter.Seq2[[]Label, error] { return c.chunks(key, true) }

// chunks is Chunks. Without anchors, those of the labels are empty.
func (c *LabelColumn) chunks(key uint32, anchors bool) iter.Seq2[[]Label, error] {
	return func(yield func([]Label, error) bool) {
		from, end, ok := c.find(key)
		if !ok {
			return
		}
		b := c.data[from:end]
		s := scratches.Get().(*labelScratch)
		defer scratches.Put(s)
		for len(b) > 0 {
			n, ok := s.chunk(b, anchors)
			if !ok {
				yield(nil, fmt.Errorf("%w: the labels of key %d", ErrCorrupt, key))
				return
			}
			b = b[n:]
			more := yield(s.labels, nil)
			clear(s.labels)
			if !more {
				return
			}
		}
	}
}

// labelScratch is the memory of one reader.
type labelScratch struct {
	labels []Label
}

var scratches = sync.Pool{New: func() any { return new(labelScratch) }}

// cursor reads the parts of a chunk. bad is set once a part is missing.
type cursor struct {
	b   []byte
	bad bool
}

func (r *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *cursor) weight() float64 {
	w, n := weight(r.b)
	if n == 0 {
		r.bad, r.b = true, nil
	}
	r.b = r.b[n:]
	return w
}

func (r *cursor) bytes(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

// chunk decodes the first chunk of b into s.labels and returns its length. Without anchors it
// skips those of the labels.
func (s *labelScratch) chunk(b []byte, anchors bool) (n int, ok bool) {
	r := cursor{b: b}
	head := r.uvarint()
	count, kind := head>>headBits, int(head&(1<<headBits-1))
	if count == 0 || count > chunkLabels {
		return 0, false
	}
	s.labels = slices.Grow(s.labels[:0], int(count))[:count]
	w := 1.0
	if kind&3 == weightsSame {
		w = r.weight()
	}
	for i := range s.labels {
		if kind&3 == weightsEach {
			w = r.weight()
		}
		s.labels[i] = Label{Weight: w}
	}
	if kind&^3 != anchorsNone {
		s.anchorsOf(&r, !anchors)
	}
	if kind&3 > weightsEach || kind&^3 > anchorsPlain {
		return 0, false
	}
	return len(b) - len(r.b), !r.bad
}

// anchorsOf reads the anchors of s.labels, or skips them.
func (s *labelScratch) anchorsOf(r *cursor, skip bool) {
	// 1. Add up the lengths, because the total bounds the memory.
	lengths := *r
	total := uint64(0)
	for range s.labels {
		l := r.uvarint()
		if total += l; l > MaxAnchor || total > maxChunk {
			r.bad = true
			return
		}
	}
	raw := r.bytes(total)
	if skip || r.bad {
		return
	}
	// 2. Cut them. They share one string, because a copy of each would cost an allocation.
	text := string(raw)
	for i := range s.labels {
		n := lengths.uvarint()
		s.labels[i].Anchor, text = text[:n], text[n:]
	}
}
