// Builder of a column of labels.

package lists

import (
	"encoding/binary"
	"fmt"

	"github.com/trefoildb/trefoil/links/ef"
)

// The limits of a chunk: it ends with the label that reaches one.
const (
	chunkLabels  = 1024
	chunkAnchors = 1 << 16 // bytes
	maxChunk     = chunkAnchors + MaxAnchor
)

// The coding of a chunk's weights and anchors, in the low bits of its head.
const (
	weightsOne   = 0
	weightsSame  = 1
	weightsEach  = 2
	anchorsNone  = 0 << 2
	anchorsPlain = 1 << 2
	headBits     = 4
)

// LabelBuilder makes a column of labels. Keys must ascend. The zero value is an empty column.
type LabelBuilder struct {
	keys      []uint64
	positions []uint64
	labels    uint64
	data      []byte
}

// Append appends the labels of a key, one for each of its targets, in their order. If labels is
// empty, the key is left out. Keys must ascend strictly, or the error wraps [ErrOrder]. An
// anchor is truncated at [MaxAnchor]. It does not keep the slice.
func (b *LabelBuilder) Append(key uint32, labels []Label) error {
	if len(b.keys) > 0 && uint64(key) <= b.keys[len(b.keys)-1] {
		return fmt.Errorf("%w: labels of key %d after those of key %d", ErrOrder, key, b.keys[len(b.keys)-1])
	}
	if len(labels) == 0 {
		return nil
	}
	b.keys = append(b.keys, uint64(key))
	b.positions = append(b.positions, uint64(len(b.data)))
	b.labels += uint64(len(labels))
	for len(labels) > 0 {
		n, bytes := 0, 0
		for n < len(labels) && n < chunkLabels && bytes < chunkAnchors {
			bytes += min(len(labels[n].Anchor), MaxAnchor)
			n++
		}
		b.appendChunk(labels[:n], bytes)
		labels = labels[n:]
	}
	return nil
}

func (b *LabelBuilder) appendChunk(labels []Label, anchorBytes int) {
	head := weightsOf(labels)
	if anchorBytes > 0 {
		head |= anchorsPlain
	}
	b.data = binary.AppendUvarint(b.data, uint64(len(labels))<<headBits|uint64(head))
	switch head & 3 {
	case weightsSame:
		b.data = appendWeight(b.data, labels[0].Weight)
	case weightsEach:
		for _, l := range labels {
			b.data = appendWeight(b.data, l.Weight)
		}
	}
	if anchorBytes == 0 {
		return
	}
	for _, l := range labels {
		b.data = binary.AppendUvarint(b.data, uint64(min(len(l.Anchor), MaxAnchor)))
	}
	for _, l := range labels {
		b.data = append(b.data, l.Anchor[:min(len(l.Anchor), MaxAnchor)]...)
	}
}

func weightsOf(labels []Label) int {
	first := labels[0].Weight
	for _, l := range labels {
		if l.Weight != first || !integral(l.Weight) {
			return weightsEach
		}
	}
	if first == 1 {
		return weightsOne
	}
	return weightsSame
}

// AppendTo appends the column to dst and returns it. More labels may follow afterwards.
func (b *LabelBuilder) AppendTo(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, labelHeaderLen)...)
	h := labelHeader{labels: b.labels}
	at := len(dst)
	dst = pad(ef.Append(dst, b.keys), start)
	h.keyBytes = uint64(len(dst) - at)
	at = len(dst)
	dst = pad(ef.Append(dst, append(b.positions, uint64(len(b.data)))), start)
	h.positionBytes = uint64(len(dst) - at)
	dst = append(dst, b.data...)
	h.dataBytes = uint64(len(b.data))
	h.put(dst[start:])
	return dst
}
